// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "../engine/settings.h"
#include "control.h"

#define ANYPLACE_MONITOR_CONTROL extern "C" __attribute__((visibility("default")))

namespace anyplace::doubles {

namespace monitoring {
namespace {

[[noreturn]] void misconfigured(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", figures_variable, what.c_str());
  std::abort();
}

class Values {
 public:
  Values() {
    const char* const text = std::getenv(figures_variable);
    for (const std::string& part : split(text == nullptr ? "" : text, ',')) {
      const auto dot = part.find('.');
      const auto equals = part.find('=');
      uint64_t device = 0, value = 0;
      if (part.empty()) continue;
      if (dot == std::string::npos || equals == std::string::npos || !read_number(part.substr(0, dot), device) ||
          !read_number(part.substr(equals + 1), value) ||
          !set(static_cast<int>(device), part.substr(dot + 1, equals - dot - 1), value)) {
        misconfigured("'" + part + "' is no DEVICE.FIGURE=NUMBER");
      }
    }
  }
  bool set(int device, std::string_view name, uint64_t value) {
    const bool known =
        std::any_of(figures.begin(), figures.end(), [&](const Figure& each) { return each.name == name; });
    if (!known || device < 0 || device >= number_of_devices()) return false;
    const std::lock_guard lock(mutex_);
    set_[{device, std::string(name)}] = value;
    return true;
  }
  uint64_t get(int device, std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = set_.find({device, std::string(name)}); found != set_.end()) return found->second;
    for (const Figure& each : figures) {
      if (each.name == name) return each.otherwise;
    }
    misconfigured("no figure " + std::string(name));
  }

 private:
  std::mutex mutex_;  // guards set_
  std::map<std::pair<int, std::string>, uint64_t> set_;
};
Values& values() {
  static Values& once = *new Values;
  return once;
}

CallBook& book() {
  static CallBook& once = *new CallBook(entry_names);
  return once;
}

}  // namespace

uint64_t figure(int device, std::string_view name) { return values().get(device, name); }

int count(const char* entry) noexcept {
  for (std::size_t i = 0; i < entry_names.size(); ++i) {
    if (std::string_view(entry_names[i]) == entry) return book().count(i);
  }
  return 0;
}

int64_t use_of_device(int physical) noexcept {
  void* const library = dlopen(device_library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  const auto ask = reinterpret_cast<int64_t (*)(int)>(dlsym(library, "anyplace_double_use_of_device"));
  const int64_t use = ask == nullptr ? -1 : ask(physical);
  dlclose(library);
  return use;
}

ANYPLACE_MONITOR_CONTROL int anyplace_monitor_double_set(int device, const char* name, uint64_t value) {
  return values().set(device, name, value) ? 1 : 0;
}
ANYPLACE_MONITOR_CONTROL int anyplace_monitor_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good) {
  return book().fail_nth(entry, nth, code, for_good != 0) ? 1 : 0;
}
ANYPLACE_MONITOR_CONTROL void anyplace_monitor_double_clear_failures(void) { book().clear_failures(); }
ANYPLACE_MONITOR_CONTROL uint64_t anyplace_monitor_double_calls_of(const char* entry) { return book().calls_of(entry); }
ANYPLACE_MONITOR_CONTROL const char* anyplace_monitor_double_entry(uint64_t index) { return book().symbol(index); }

}  // namespace monitoring
}  // namespace anyplace::doubles
