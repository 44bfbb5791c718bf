// SPDX-License-Identifier: Apache-2.0
//
// The controls (double_control.h) of the instance of a double that this process uses, for tests that don't link it.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "double_control.h"

namespace anyplace::doubles {

/// Cheap to make; the library stays loaded. Throws std::runtime_error if the library isn't loaded (pass `load` to load
/// it, as the backend would) or is no double.
class Control {
 public:
  explicit Control(const char* library = "libcuda.so.1", bool load = false)
      : library_(dlopen(library, load ? RTLD_NOW | RTLD_LOCAL : RTLD_NOW | RTLD_NOLOAD)) {
    if (library_ == nullptr) throw std::runtime_error(std::string(library) + " is not loaded");
    find(fail_nth_, "anyplace_double_fail_nth");
    find(clear_failures_, "anyplace_double_clear_failures");
    find(failures_, "anyplace_double_failures");
    find(calls_of_, "anyplace_double_calls_of");
    find(calls_, "anyplace_double_calls");
    find(entry_, "anyplace_double_entry");
    find(live_, "anyplace_double_live");
    find(live_text_, "anyplace_double_live_text");
    find(left_behind_, "anyplace_double_left_behind");
    find(misuses_, "anyplace_double_misuses");
    find(misuse_text_, "anyplace_double_misuse_text");
    find(reset_, "anyplace_double_reset");
    find(fail_device_, "anyplace_double_fail_device");
    find(fault_kernel_, "anyplace_double_fault_kernel");
    find(hold_, "anyplace_double_hold");
  }

  bool fail_nth(const char* entry, std::uint64_t nth, int code, bool for_good = false) const {
    return fail_nth_(entry, nth, code, for_good ? 1 : 0) != 0;
  }
  void clear_failures() const { clear_failures_(); }
  std::uint64_t failures() const { return failures_(); }
  std::uint64_t calls_of(const char* entry) const { return calls_of_(entry); }
  std::uint64_t calls() const { return calls_(); }
  /// Null behind the last.
  const char* entry(std::size_t index) const { return entry_(index); }
  std::uint64_t live(const char* kind = nullptr) const { return live_(kind); }
  std::string live_text() const { return text_of(live_text_); }
  std::uint64_t left_behind() const { return left_behind_(); }
  std::uint64_t misuses() const { return misuses_(); }
  std::string misuse_text() const { return text_of(misuse_text_); }
  void reset() const { reset_(); }
  bool fail_device(int device, int code) const { return fail_device_(device, code) != 0; }
  bool fault_kernel(int device, std::uint64_t nth, int code) const { return fault_kernel_(device, nth, code) != 0; }
  bool hold(int device, bool held) const { return hold_(device, held ? 1 : 0) != 0; }

 private:
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr) throw std::runtime_error(std::string("the library is no double: it lacks ") + name);
  }
  static std::string text_of(size_t (*write)(char*, size_t)) {
    std::string text(write(nullptr, 0) + 1, '\0');
    const std::size_t length = write(text.data(), text.size());
    text.resize(length < text.size() ? length : text.size() - 1);
    return text;
  }

  void* library_;
  decltype(anyplace_double_fail_nth)* fail_nth_ = nullptr;
  decltype(anyplace_double_clear_failures)* clear_failures_ = nullptr;
  decltype(anyplace_double_failures)* failures_ = nullptr;
  decltype(anyplace_double_calls_of)* calls_of_ = nullptr;
  decltype(anyplace_double_calls)* calls_ = nullptr;
  decltype(anyplace_double_entry)* entry_ = nullptr;
  decltype(anyplace_double_live)* live_ = nullptr;
  decltype(anyplace_double_live_text)* live_text_ = nullptr;
  decltype(anyplace_double_left_behind)* left_behind_ = nullptr;
  decltype(anyplace_double_misuses)* misuses_ = nullptr;
  decltype(anyplace_double_misuse_text)* misuse_text_ = nullptr;
  decltype(anyplace_double_reset)* reset_ = nullptr;
  decltype(anyplace_double_fail_device)* fail_device_ = nullptr;
  decltype(anyplace_double_fault_kernel)* fault_kernel_ = nullptr;
  decltype(anyplace_double_hold)* hold_ = nullptr;
};

}  // namespace anyplace::doubles
