// SPDX-License-Identifier: Apache-2.0
//
// The controls (double_control.h), and the report that HIP_DOUBLE_REPORT asks for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "../double_control.h"
#include "exports.h"
#include "state.h"

#define HIP_DOUBLE_CONTROL extern "C" __attribute__((visibility("default")))

namespace anyplace::doubles::hip {
namespace {

struct Thing {
  const char* kind;
  std::string text;
};
using Things = std::vector<Thing>;

/// What a device has that failed can't be given back any more, so it doesn't count.
bool counts(const DeviceRef& device) { return fault_of(*device) == hipSuccess; }
bool counts(int device) { return counts(state().devices[static_cast<std::size_t>(device)]); }

template <class Table>
void add_all(Things& things, const Table& table, const char* kind) {
  char text[64];
  for (const auto& [value, object] : table.all()) {
    if (!counts(object->device)) continue;
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    things.push_back({kind, std::string(text) + " of device " + std::to_string(object->device->index)});
  }
}

const char* kind_of(const Block& block) {
  switch (block.kind) {
    case MemoryKind::kPinned:
      return "host";
    case MemoryKind::kRegistered:
      return "registered";
    case MemoryKind::kMapped:
      return "mapping";
    default:
      return "memory";
  }
}

void add_memory(Things& things) {
  State& all = state();
  for (const Block& block : all.memory.live()) {
    if (!counts(block.device)) continue;
    char text[128];
    std::snprintf(text, sizeof(text), "0x%llx, %llu bytes, device %d%s%s", static_cast<unsigned long long>(block.start),
                  static_cast<unsigned long long>(block.bytes), block.device,
                  block.pool != 0 && block.kind == MemoryKind::kDevice ? ", of a pool" : "",
                  block.state == MemoryState::kFreeQueued ? ", its free is queued" : "");
    things.push_back({kind_of(block), text});
  }
  for (const auto& [value, physical] : all.physicals.all()) {
    if (physical->handles == 0 || !counts(physical->device)) continue;
    things.push_back({"physical", std::to_string(physical->bytes) + " bytes of device " +
                                      std::to_string(physical->device) + ", handles " +
                                      std::to_string(physical->handles)});
  }
  bool all_count = true;  // a range of addresses belongs to no device
  for (std::size_t i = 0; i < all.devices.size(); ++i) all_count = all_count && counts(static_cast<int>(i));
  for (std::size_t i = all_count ? all.memory.reserved() : 0; i > 0; --i) things.push_back({"reservation", ""});
}

Things live_things() {
  Things things;
  if (state_if_any() == nullptr) return things;
  State& all = state();
  const Locked lock(all.mutex);
  for (const DeviceRef& device : all.devices) {
    if (device->context_retained == 0 || !counts(device)) continue;
    things.push_back({"context", "primary, retained " + std::to_string(device->context_retained) + ", of device " +
                                     std::to_string(device->index)});
  }
  add_all(things, all.streams, "stream");
  add_all(things, all.events, "event");
  add_all(things, all.modules, "module");
  for (const auto& [value, pool] : all.pools.all()) {
    if (pool->destroyed || !counts(pool->device)) continue;
    things.push_back({"pool", "of device " + std::to_string(pool->device)});
  }
  add_memory(things);
  return things;
}

size_t write_text(const std::string& text, char* out, size_t bytes) {
  if (out != nullptr && bytes != 0) {
    const size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
  }
  return text.size();
}

bool is_device(int device) { return state_if_any() != nullptr && check_device(device) == hipSuccess; }

void write_report(const char* path) {
  std::ofstream report(path, std::ios::trunc);
  CallBook& book = call_book();
  for (std::size_t i = 0; book.symbol(i) != nullptr; ++i) {
    const uint64_t calls = book.calls_at(i);
    if (calls != 0) report << "call " << book.symbol(i) << ' ' << calls << '\n';
  }
  report << "failures " << book.failures() << '\n';
  const Things things = live_things();
  std::map<std::string, std::pair<uint64_t, std::string>> kinds;
  for (const Thing& thing : things) {
    auto& [count, first] = kinds[thing.kind];
    if (count++ == 0) first = thing.text;
  }
  for (const auto& [kind, found] : kinds) {
    report << "live " << kind << ' ' << found.first << ' ' << found.second << '\n';
  }
  std::string misuse = misuses().text();
  for (std::size_t begin = 0; begin < misuse.size();) {
    const std::size_t end = std::min(misuse.find('\n', begin), misuse.size());
    report << "misuse " << misuse.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

/// Behind all exit handlers, so behind what a user of the driver gives back there.
__attribute__((destructor)) void report_at_end() {
  const char* const path = std::getenv("HIP_DOUBLE_REPORT");
  if (path != nullptr && *path != '\0' && !was_forked()) write_report(path);
}

}  // namespace

HIP_DOUBLE_CONTROL int anyplace_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good) {
  return call_book().fail_nth(entry, nth, code, for_good != 0) ? 1 : 0;
}

HIP_DOUBLE_CONTROL void anyplace_double_clear_failures(void) { call_book().clear_failures(); }

HIP_DOUBLE_CONTROL uint64_t anyplace_double_failures(void) { return call_book().failures(); }

HIP_DOUBLE_CONTROL uint64_t anyplace_double_calls_of(const char* entry) { return call_book().calls_of(entry); }

HIP_DOUBLE_CONTROL uint64_t anyplace_double_calls(void) { return call_book().calls(); }

HIP_DOUBLE_CONTROL const char* anyplace_double_entry(size_t index) { return call_book().symbol(index); }

HIP_DOUBLE_CONTROL uint64_t anyplace_double_live(const char* kind) {
  const Things things = live_things();
  return static_cast<uint64_t>(std::count_if(things.begin(), things.end(), [kind](const Thing& thing) {
    return kind == nullptr || std::strcmp(thing.kind, kind) == 0;
  }));
}

HIP_DOUBLE_CONTROL size_t anyplace_double_live_text(char* text, size_t bytes) {
  const Things things = live_things();
  std::string all;
  for (const Thing& thing : things) all += thing.kind + (thing.text.empty() ? "" : " " + thing.text) + '\n';
  return write_text(all, text, bytes);
}

HIP_DOUBLE_CONTROL uint64_t anyplace_double_left_behind(void) {
  return 0;  // a device of HIP's ends with the process
}

HIP_DOUBLE_CONTROL uint64_t anyplace_double_misuses(void) { return misuses().count(); }

HIP_DOUBLE_CONTROL size_t anyplace_double_misuse_text(char* text, size_t bytes) {
  return write_text(misuses().text(), text, bytes);
}

HIP_DOUBLE_CONTROL void anyplace_double_reset(void) {
  call_book().clear_failures();
  call_book().reset_counts();
  misuses().clear();
}

HIP_DOUBLE_CONTROL int anyplace_double_fail_device(int device, int code) {
  if (!is_device(device) || code == 0) return 0;
  state().engine.fail(state().devices[static_cast<std::size_t>(device)]->fault, code);
  return 1;
}

HIP_DOUBLE_CONTROL int anyplace_double_fault_kernel(int device, uint64_t nth, int code) {
  if (!is_device(device) || code == 0) return 0;
  const Locked lock(state().mutex);
  Device& of = *state().devices[static_cast<std::size_t>(device)];
  of.kernels_until_fault = nth;
  of.kernel_fault = code;
  return 1;
}

HIP_DOUBLE_CONTROL int anyplace_double_hold(int device, int held) {
  if (!is_device(device)) return 0;
  state().engine.hold(device, held != 0);
  return 1;
}

}  // namespace anyplace::doubles::hip
