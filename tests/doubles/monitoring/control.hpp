// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double of a management library, loaded before a backend loads it.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "control.h"

namespace anyplace::doubles {

class MonitorControl {
 public:
  explicit MonitorControl(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(std::string(library) + " is not found");
    find(set_, "anyplace_monitor_double_set");
    find(fail_nth_, "anyplace_monitor_double_fail_nth");
    find(clear_failures_, "anyplace_monitor_double_clear_failures");
    find(calls_of_, "anyplace_monitor_double_calls_of");
    find(entry_, "anyplace_monitor_double_entry");
  }

  bool set(int device, const char* figure, std::uint64_t value) const { return set_(device, figure, value) != 0; }
  bool fail_nth(const char* entry, std::uint64_t nth, int code, bool for_good = false) const {
    return fail_nth_(entry, nth, code, for_good ? 1 : 0) != 0;
  }
  bool fail(const char* entry, int code) const { return fail_nth(entry, 1, code, true); }
  void clear_failures() const { clear_failures_(); }
  std::uint64_t calls_of(const char* entry) const { return calls_of_(entry); }
  const char* entry(std::uint64_t index) const { return entry_(index); }

 private:
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the library is no double: it lacks ") + name);
  }

  void* library_;
  decltype(anyplace_monitor_double_set)* set_ = nullptr;
  decltype(anyplace_monitor_double_fail_nth)* fail_nth_ = nullptr;
  decltype(anyplace_monitor_double_clear_failures)* clear_failures_ = nullptr;
  decltype(anyplace_monitor_double_calls_of)* calls_of_ = nullptr;
  decltype(anyplace_monitor_double_entry)* entry_ = nullptr;
};

}  // namespace anyplace::doubles
