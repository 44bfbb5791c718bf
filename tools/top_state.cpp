// SPDX-License-Identifier: Apache-2.0
#include "top_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace anyplace::tool {
namespace {

constexpr std::array sort_keys{SortKey::place, SortKey::utilization, SortKey::memory, SortKey::temperature,
                               SortKey::power, SortKey::pid,         SortKey::name};
constexpr std::size_t longest_filter = 60;
constexpr std::size_t lines_of_page = 10;
constexpr int key_enter = '\n';
constexpr int key_carriage_return = '\r';
constexpr int key_escape = 0x1b;
constexpr int key_delete = 0x7f;
constexpr int key_control_h = 0x08;

/// The backend and the number, so that "cuda:10" comes after "cuda:9".
std::pair<std::string_view, int> place_order(std::string_view place) {
  const std::size_t colon = place.find(':');
  int index = -1;
  if (colon != std::string_view::npos) {
    std::from_chars(place.data() + colon + 1, place.data() + place.size(), index);
  }
  return {place.substr(0, colon), index};
}

template <class T>
double figure_of(const std::optional<T>& value) {
  return value ? static_cast<double>(*value) : -1e300;  // unknown figures come last; -1e300 is colder than any device
}

double figure_of(const TopDevice& device, SortKey key) {
  if (key == SortKey::place || key == SortKey::pid || key == SortKey::name) return 0;
  if (!device.sample) return -1e301;  // devices without a sample come behind those of which something is known
  switch (key) {
    case SortKey::utilization:
      return figure_of(device.sample->compute_utilization);
    case SortKey::memory:
      return figure_of(device.sample->memory_used_bytes);
    case SortKey::temperature:
      return figure_of(device.sample->temperature_celsius);
    case SortKey::power:
      return figure_of(device.sample->power_watts);
    case SortKey::place:
    case SortKey::pid:
    case SortKey::name:
      break;
  }
  return 0;
}

bool comes_first(const TopDevice& a, const TopDevice& b, SortKey key) {
  if (key == SortKey::name && a.name != b.name) return a.name < b.name;
  const double figure_a = figure_of(a, key);
  const double figure_b = figure_of(b, key);
  if (figure_a != figure_b) return figure_a > figure_b;
  return place_order(a.place) < place_order(b.place);
}

bool comes_first(const TopProcess& a, const TopProcess& b, SortKey key) {
  if (key == SortKey::pid && a.process.id != b.process.id) return a.process.id < b.process.id;
  if (key == SortKey::name && a.process.name != b.process.name) return a.process.name < b.process.name;
  if (key == SortKey::utilization && a.process.compute_utilization != b.process.compute_utilization) {
    return figure_of(a.process.compute_utilization) > figure_of(b.process.compute_utilization);
  }
  const auto order_a = place_order(a.place);
  const auto order_b = place_order(b.place);
  if (key != SortKey::memory && order_a != order_b) return order_a < order_b;
  if (a.process.memory_bytes != b.process.memory_bytes) {
    return figure_of(a.process.memory_bytes) > figure_of(b.process.memory_bytes);
  }
  return std::pair(order_a, a.process.id) < std::pair(order_b, b.process.id);
}

bool passes(const TopProcess& shown, const std::string& filter) {
  return filter.empty() || shown.place.find(filter) != std::string::npos ||
         shown.process.name.find(filter) != std::string::npos ||
         std::to_string(shown.process.id).find(filter) != std::string::npos;
}

KeyResult type(TopState& state, int key) {
  switch (key) {
    case key_enter:
    case key_carriage_return:
      state.typing = false;
      return KeyResult::changed;
    case key_escape:
      state.typing = false;
      state.filter.clear();
      return KeyResult::changed;
    case key_backspace:
    case key_delete:
    case key_control_h:
      if (!state.filter.empty()) state.filter.pop_back();
      return KeyResult::changed;
    default:
      break;
  }
  if (key < ' ' || key > '~' || state.filter.size() >= longest_filter) return KeyResult::ignored;
  state.filter += static_cast<char>(key);
  state.first_process = 0;
  return KeyResult::changed;
}

KeyResult scroll(TopState& state, std::size_t first) {
  state.first_process = first;
  return KeyResult::changed;
}

}  // namespace

std::span<const SortKey> all_sort_keys() noexcept { return sort_keys; }

const char* to_string(SortKey key) noexcept {
  switch (key) {
    case SortKey::place:
      return "place";
    case SortKey::utilization:
      return "utilization";
    case SortKey::memory:
      return "memory";
    case SortKey::temperature:
      return "temperature";
    case SortKey::power:
      return "power";
    case SortKey::pid:
      return "pid";
    case SortKey::name:
      return "name";
  }
  return "";
}

std::optional<SortKey> sort_key(std::string_view text) noexcept {
  for (const SortKey key : sort_keys) {
    if (text == to_string(key)) return key;
  }
  return std::nullopt;
}

std::vector<TopDevice> sorted_devices(const TopSnapshot& snapshot, const TopState& state) {
  std::vector<TopDevice> devices = snapshot.devices;
  std::stable_sort(devices.begin(), devices.end(),
                   [&](const TopDevice& a, const TopDevice& b) { return comes_first(a, b, state.sort); });
  return devices;
}

std::vector<TopProcess> shown_processes(const TopSnapshot& snapshot, const TopState& state) {
  std::vector<TopProcess> shown;
  for (const TopDevice& device : snapshot.devices) {
    if (!device.processes) continue;
    for (const DeviceProcess& process : *device.processes) {
      TopProcess candidate{device.place, process};
      if (passes(candidate, state.filter)) shown.push_back(std::move(candidate));
    }
  }
  std::stable_sort(shown.begin(), shown.end(),
                   [&](const TopProcess& a, const TopProcess& b) { return comes_first(a, b, state.sort); });
  return shown;
}

KeyResult press(TopState& state, int key) {
  if (state.typing) return type(state, key);
  switch (key) {
    case 'q':
    case 'Q':
      return KeyResult::quit;
    case 's': {
      const auto at = std::find(sort_keys.begin(), sort_keys.end(), state.sort);
      state.sort = sort_keys[static_cast<std::size_t>(at - sort_keys.begin() + 1) % sort_keys.size()];
      return KeyResult::changed;
    }
    case '/':
      state.typing = true;
      return KeyResult::changed;
    case key_escape:
      state.filter.clear();
      return KeyResult::changed;
    case key_up:
      return scroll(state, state.first_process - std::min<std::size_t>(state.first_process, 1));
    case key_down:
      return scroll(state, state.first_process + 1);
    case key_page_up:
      return scroll(state, state.first_process - std::min(state.first_process, lines_of_page));
    case key_page_down:
      return scroll(state, state.first_process + lines_of_page);
    case key_home:
      return scroll(state, 0);
    case 'r':
    case ' ':
      return KeyResult::sample;
    default:
      return KeyResult::ignored;
  }
}

}  // namespace anyplace::tool
