// SPDX-License-Identifier: Apache-2.0
//
// The controls (double_control.h), and the report that LEVELZERO_DOUBLE_REPORT asks for.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "../double_control.h"
#include "exports.h"
#include "state.h"

#define LEVELZERO_DOUBLE_CONTROL extern "C" __attribute__((visibility("default")))

namespace anyplace::doubles::levelzero {
namespace {

struct Thing {
  const char* kind;
  std::string text;
};
using Things = std::vector<Thing>;

bool counts(const Device& device) { return health_of(device) == ZE_RESULT_SUCCESS; }

const char* kind_of(const Block& block) {
  switch (block.kind) {
    case MemoryKind::kPinned:
      return "host";
    case MemoryKind::kMapped:
      return "mapping";
    default:
      return "memory";
  }
}

/// What a lost device has can't be relied on to be given back, so it doesn't count.
Things live_things() {
  Things things;
  if (state_if_any() == nullptr) return things;
  State& all = state();
  const Locked lock(all.mutex);
  const bool any_lost =
      std::any_of(all.devices.begin(), all.devices.end(), [](const auto& one) { return !counts(*one); });
  const auto of_device = [](const Device& device) { return "of device " + std::to_string(device.index); };
  for (const auto& [value, list] : all.lists.all()) {
    if (counts(*list->device)) things.push_back({"stream", of_device(*list->device)});
  }
  for (const auto& [value, module] : all.modules.all()) {
    if (counts(*module->device)) things.push_back({"module", of_device(*module->device)});
  }
  for (const auto& [value, kernel] : all.kernels.all()) {
    if (counts(*kernel->module->device)) things.push_back({"kernel", kernel->name});
  }
  for (const Block& block : all.memory.live()) {
    const bool of_host = block.kind == MemoryKind::kPinned;
    if (of_host ? any_lost : !counts(*all.devices[static_cast<std::size_t>(block.device)])) continue;
    things.push_back({kind_of(block), std::to_string(block.bytes) + " bytes"});
  }
  for (std::size_t i = 0; i < all.logs.all().size(); ++i) things.push_back({"build_log", ""});
  for (const auto& [value, physical] : all.physicals.all()) {
    if (counts(*all.devices[static_cast<std::size_t>(physical->device)])) things.push_back({"physical", ""});
  }
  if (any_lost) return things;  // what belongs to no one device
  for (std::size_t i = 0; i < all.contexts.all().size(); ++i) things.push_back({"context", ""});
  for (std::size_t i = 0; i < all.events.all().size(); ++i) things.push_back({"event", ""});
  for (std::size_t i = 0; i < all.pools.all().size(); ++i) things.push_back({"pool", ""});
  for (std::size_t i = all.memory.reserved(); i > 0; --i) things.push_back({"reservation", ""});
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

DeviceRef device_at(int index) {
  if (state_if_any() == nullptr || index < 0 || static_cast<std::size_t>(index) >= state().devices.size())
    return nullptr;
  return state().devices[static_cast<std::size_t>(index)];
}

/// The path, with %p in it as the process's number: a suite has many processes.
std::string with_process(std::string path) {
  if (const auto at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

void write_report(const char* path) {
  std::ofstream report(with_process(path), std::ios::trunc);
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
  for (const auto& [kind, found] : kinds)
    report << "live " << kind << ' ' << found.first << ' ' << found.second << '\n';
  const std::string misuse = misuses().text();
  for (std::size_t begin = 0; begin < misuse.size();) {
    const std::size_t end = std::min(misuse.find('\n', begin), misuse.size());
    report << "misuse " << misuse.substr(begin, end - begin) << '\n';
    begin = end + 1;
  }
}

/// Behind all exit handlers, so behind what a user of the driver gives back there.
__attribute__((destructor)) void report_at_end() {
  const char* const path = std::getenv("LEVELZERO_DOUBLE_REPORT");
  if (path != nullptr && *path != '\0' && !was_forked()) write_report(path);
}

}  // namespace

LEVELZERO_DOUBLE_CONTROL int anyplace_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good) {
  return call_book().fail_nth(entry, nth, code, for_good != 0) ? 1 : 0;
}

LEVELZERO_DOUBLE_CONTROL void anyplace_double_clear_failures(void) { call_book().clear_failures(); }

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_failures(void) { return call_book().failures(); }

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_calls_of(const char* entry) { return call_book().calls_of(entry); }

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_calls(void) { return call_book().calls(); }

LEVELZERO_DOUBLE_CONTROL const char* anyplace_double_entry(size_t index) { return call_book().symbol(index); }

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_live(const char* kind) {
  const Things things = live_things();
  return static_cast<uint64_t>(std::count_if(things.begin(), things.end(), [kind](const Thing& thing) {
    return kind == nullptr || std::strcmp(thing.kind, kind) == 0;
  }));
}

LEVELZERO_DOUBLE_CONTROL size_t anyplace_double_live_text(char* text, size_t bytes) {
  const Things things = live_things();
  std::string all;
  for (const Thing& thing : things) all += thing.kind + (thing.text.empty() ? "" : " " + thing.text) + '\n';
  return write_text(all, text, bytes);
}

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_left_behind(void) { return 0; }

LEVELZERO_DOUBLE_CONTROL uint64_t anyplace_double_misuses(void) { return misuses().count(); }

LEVELZERO_DOUBLE_CONTROL size_t anyplace_double_misuse_text(char* text, size_t bytes) {
  return write_text(misuses().text(), text, bytes);
}

LEVELZERO_DOUBLE_CONTROL void anyplace_double_reset(void) {
  call_book().clear_failures();
  call_book().reset_counts();
  misuses().clear();
}

LEVELZERO_DOUBLE_CONTROL int anyplace_double_fail_device(int device, int code) {
  const DeviceRef lost = device_at(device);
  if (lost == nullptr || code == 0) return 0;
  state().engine.fail(lost->fault, code);
  return 1;
}

LEVELZERO_DOUBLE_CONTROL int anyplace_double_fault_kernel(int device, uint64_t nth, int code) {
  const DeviceRef of = device_at(device);
  if (of == nullptr || nth == 0 || code == 0) return 0;
  const Locked lock(state().mutex);
  of->kernels_until_fault = nth;
  of->kernel_fault = code;
  return 1;
}

LEVELZERO_DOUBLE_CONTROL int anyplace_double_hold(int device, int held) {
  if (device_at(device) == nullptr) return 0;
  state().engine.hold(device, held != 0);
  return 1;
}

}  // namespace anyplace::doubles::levelzero
