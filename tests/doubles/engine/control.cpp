// SPDX-License-Identifier: Apache-2.0
//
// The controls (double_control.h), and the report that the variable REPORT asks for.
#include "control.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "../double_control.h"
#include "life.h"

#define ANYPLACE_DOUBLE_CONTROL extern "C" __attribute__((visibility("default")))

namespace anyplace::doubles {

const char* kind_of(const Block& block) noexcept {
  switch (block.kind) {
    case MemoryKind::pinned:
      return "host";
    case MemoryKind::registered:
      return "registered";
    case MemoryKind::mapped:
      return "mapping";
    default:
      return "memory";
  }
}

namespace {

size_t write_text(const std::string& text, char* out, size_t bytes) {
  if (out != nullptr && bytes != 0) {
    const size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
  }
  return text.size();
}

bool is_device(int device) { return engine_if_any() != nullptr && device >= 0 && device < device_count(); }

/// %p in the path is the process's number: a suite has many processes.
void write_report(std::string path) {
  if (const auto at = path.find("%p"); at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  std::ofstream report(path, std::ios::trunc);
  CallBook& book = call_book();
  for (std::size_t i = 0; book.symbol(i) != nullptr; ++i) {
    const uint64_t calls = book.calls_at(i);
    if (calls != 0) report << "call " << book.symbol(i) << ' ' << calls << '\n';
  }
  report << "failures " << book.failures() << '\n';
  const std::vector<Thing> things = live_things();
  std::map<std::string, std::pair<uint64_t, std::string>> kinds;
  for (const Thing& thing : things) {
    auto& [count, first] = kinds[thing.kind];
    if (count++ == 0) first = thing.text;
  }
  for (const auto& [kind, found] : kinds) {
    report << "live " << kind << ' ' << found.first << ' ' << found.second << '\n';
  }
  for (const std::string& misuse : split(misuses().text(), '\n')) report << "misuse " << misuse << '\n';
}

/// Behind all exit handlers, so behind what a user of the driver gives back there.
__attribute__((destructor)) void report_at_end() {
  const std::string path = variables().text("REPORT");
  if (!path.empty() && !was_forked()) write_report(path);
}

}  // namespace

ANYPLACE_DOUBLE_CONTROL int anyplace_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good) {
  return call_book().fail_nth(entry, nth, code, for_good != 0) ? 1 : 0;
}

ANYPLACE_DOUBLE_CONTROL void anyplace_double_clear_failures(void) { call_book().clear_failures(); }

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_failures(void) { return call_book().failures(); }

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_calls_of(const char* entry) { return call_book().calls_of(entry); }

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_calls(void) { return call_book().calls(); }

ANYPLACE_DOUBLE_CONTROL const char* anyplace_double_entry(size_t index) { return call_book().symbol(index); }

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_live(const char* kind) {
  const std::vector<Thing> things = live_things();
  return static_cast<uint64_t>(std::count_if(things.begin(), things.end(), [kind](const Thing& thing) {
    return kind == nullptr || std::strcmp(thing.kind, kind) == 0;
  }));
}

ANYPLACE_DOUBLE_CONTROL size_t anyplace_double_live_text(char* text, size_t bytes) {
  std::string all;
  for (const Thing& thing : live_things()) all += thing.kind + (thing.text.empty() ? "" : " " + thing.text) + '\n';
  return write_text(all, text, bytes);
}

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_left_behind(void) { return left_behind(); }

ANYPLACE_DOUBLE_CONTROL uint64_t anyplace_double_misuses(void) { return misuses().count(); }

ANYPLACE_DOUBLE_CONTROL size_t anyplace_double_misuse_text(char* text, size_t bytes) {
  return write_text(misuses().text(), text, bytes);
}

ANYPLACE_DOUBLE_CONTROL void anyplace_double_reset(void) {
  call_book().clear_failures();
  call_book().reset_counts();
  misuses().clear();
}

ANYPLACE_DOUBLE_CONTROL int anyplace_double_fail_device(int device, int code) {
  if (!is_device(device) || code == 0) return 0;
  for (const auto& domain : domains_of_device(device)) engine_if_any()->fail(domain, code);
  return 1;
}

ANYPLACE_DOUBLE_CONTROL int anyplace_double_fault_kernel(int device, uint64_t nth, int code) {
  if (!is_device(device) || nth == 0 || code == 0) return 0;
  set_kernel_fault(device, nth, code);
  return 1;
}

ANYPLACE_DOUBLE_CONTROL int anyplace_double_hold(int device, int held) {
  if (!is_device(device)) return 0;
  engine_if_any()->hold(device, held != 0);
  return 1;
}

}  // namespace anyplace::doubles
