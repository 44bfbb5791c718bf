// SPDX-License-Identifier: Apache-2.0
// What a call throws, as values to compare; and the error handler's reports, caught.
#pragma once

#include <catch2/catch.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "anyplace/error.h"

namespace anyplace {
/// So that a failed comparison shows names.
inline std::ostream& operator<<(std::ostream& out, ErrorCode code) { return out << to_string(code); }
}  // namespace anyplace

namespace test {

/// Refers to something that can be called, for as long as the expression it is an argument in. The functions below take
/// it instead of being templates: each lambda is a type of its own, and they would be compiled anew for each of
/// hundreds of them.
class CallRef {
 public:
  template <class Call>
  requires(!std::is_same_v<std::remove_cvref_t<Call>, CallRef>) CallRef(Call&& call)
      : call_(&call), run_(run<std::remove_reference_t<Call>>) {}
  void operator()() const { run_(call_); }

 private:
  template <class Call>
  static void run(const void* call) {
    (*static_cast<Call*>(const_cast<void*>(call)))();
  }

  const void* call_;
  void (*run_)(const void*);
};

/// The Error that `call` throws; nothing if it throws none. Another exception passes.
inline std::optional<anyplace::Error> error_of(CallRef call) {
  try {
    call();
  } catch (const anyplace::Error& error) {
    return error;
  }
  return std::nullopt;
}

/// The code of that Error; ok if there is none.
inline anyplace::ErrorCode code_of(CallRef call) {
  const std::optional<anyplace::Error> error = error_of(call);
  return error ? error->code() : anyplace::ErrorCode::ok;
}

/// That Error, which there must be.
inline anyplace::Error required_error(CallRef call) {
  const std::optional<anyplace::Error> error = error_of(call);
  if (!error) FAIL("no anyplace::Error was thrown");
  return *error;
}

/// The same, with that code.
inline anyplace::Error required_error(anyplace::ErrorCode code, CallRef call) {
  const anyplace::Error error = required_error(call);
  INFO(error.what());
  CHECK(error.code() == code);
  return error;
}

/// Collects what goes to the error handler, as long as it lives.
class Reports {
 public:
  Reports() {
    before_ = anyplace::set_error_handler([state = state_](const anyplace::Error& error) {
      const std::lock_guard lock(state->mutex);
      state->errors.push_back(error);
      state->changed.notify_all();
    });
  }
  Reports(const Reports&) = delete;  // restores the handler once
  Reports& operator=(const Reports&) = delete;
  ~Reports() { anyplace::set_error_handler(before_); }

  std::vector<anyplace::Error> all() const {
    const std::lock_guard lock(state_->mutex);
    return state_->errors;
  }
  /// Returns when there are as many.
  std::vector<anyplace::Error> wait_for(std::size_t count) const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->errors.size() >= count; });
    return state_->errors;
  }

 private:
  struct State {
    std::mutex mutex;  // guards errors
    std::condition_variable changed;
    std::vector<anyplace::Error> errors;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  anyplace::ErrorHandler before_;
};

}  // namespace test
