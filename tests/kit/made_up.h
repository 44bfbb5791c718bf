// SPDX-License-Identifier: Apache-2.0
//
// A vendor that is made up, for the parts of a device: results are numbers, 1 is out of memory, 2 not ready, 7 loses
// the device; what is called and what it returns is the case's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "anyplace/backend/kit/device_base.h"

namespace made_up {

using namespace anyplace::backend;

/// The driver. `fail` says what calls of a name return; all others succeed.
struct Driver {
  std::map<std::string, int> fail;
  std::vector<std::string> calls;
  int call(const std::string& name) {
    calls.push_back(name);
    const auto found = fail.find(name);
    return found == fail.end() ? 0 : found->second;
  }
  int count(const std::string& name) const {
    int all = 0;
    for (const std::string& each : calls) all += each == name ? 1 : 0;
    return all;
  }
};
inline Driver driver;
inline int current = 0;  ///< the context that is; 0: none

struct ErrorCalls {
  using Result = int;
  static std::span<const ResultRow> rows() noexcept {
    static constexpr ResultRow all[] = {{1, "NO_MEMORY", ANYPLACE_STATUS_OUT_OF_MEMORY, false},
                                        {2, "NOT_READY", ANYPLACE_STATUS_NOT_READY, false},
                                        {7, "BROKEN", ANYPLACE_STATUS_DEVICE_LOST, true}};
    return all;
  }
  static std::string name_of(int result) {
    const ResultRow* const row = Results<ErrorCalls>::row_of(result);
    return row == nullptr ? "result " + std::to_string(result) : row->name;
  }
  static std::string text_of(int result) { return result == 7 ? "it broke" : ""; }
};

struct Context {
  using Handle = int;
  explicit Context(int device) noexcept : device_(device) {}
  bool read(int& handle) const noexcept {
    handle = begun_ ? device_ : 0;
    return begun_;
  }
  template <class Made>
  int begin(Made&& made) {
    const int result = made();
    begun_ = result == 0;
    return result;
  }

 private:
  const int device_;
  bool begun_ = false;
};

class ContextScope {
 public:
  explicit ContextScope(int handle) noexcept : before_(current) { current = handle; }
  enum class Always {};
  ContextScope(int handle, Always) noexcept : ContextScope(handle) {}
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() { current = before_; }
  int result() const noexcept { return 0; }

 private:
  const int before_;
};

struct DeviceCalls {
  using Native = int;
  using Result = int;
  using Stream = int;
  using Results = anyplace::backend::Results<ErrorCalls>;
  using Context = made_up::Context;
  using ContextScope = made_up::ContextScope;
  static constexpr const char* name = "made_up";
  static constexpr const char* begin_call = "begin";
  static constexpr const char* scope_call = "scope";
  static constexpr const char* foreign = "another context failed";
  static int make_stream(int& stream) noexcept {
    stream = 99;
    return driver.call("make_stream");
  }
  static int query(int) noexcept { return driver.call("query"); }
  static bool is_of(anyplace::backend::DeviceBase<DeviceCalls>&, int) noexcept {
    return driver.fail.count("foreign") == 0;
  }
  static bool is_exit(int result) noexcept { return result == 4; }
  static int attribute(int, int attribute, int otherwise) { return attribute == 1 ? 42 : otherwise; }
};

using OneDevice = anyplace::backend::DeviceBase<DeviceCalls>;
using InContext = anyplace::backend::DeviceScope<DeviceCalls>;
using AtEnd = anyplace::backend::EndScope<DeviceCalls>;

struct Calls {
  using Device = OneDevice;
  using Scope = InContext;
  using End = AtEnd;
};

/// What two devices need; forgets what the driver was told.
struct House : Watched {
  House() {
    driver = {};
    current = 0;
  }
  void look(bool) noexcept override {}
  bool anything_pending() const noexcept override { return false; }
  virtual ~House() { watcher.stop(); }

  anyplace_host callbacks = [] {
    anyplace_host made{};
    made.leave_message = [](void*, std::int64_t, const char*, const char*) {};
    return made;
  }();
  Watcher watcher{"made-up", *this};
  OneDevice device{Host(&callbacks), watcher, 1, 0};
  OneDevice peer{Host(&callbacks), watcher, 2, 1};
};

/// The status that `made` fails with; OK if it doesn't.
template <class Made>
anyplace_status status_of(Made&& made) {
  try {
    made();
    return ANYPLACE_STATUS_OK;
  } catch (const Failure& failure) {
    return failure.status();
  }
}

}  // namespace made_up
