// SPDX-License-Identifier: Apache-2.0
//
// The steps of levelzero_intel_driver: what is done to a real Level Zero driver without a device behind it, each with
// what has to come of it. Nothing that is submitted ever runs there, so no step waits for work.
//
// A step throws Wrong if it came out otherwise; what else it throws is wrong too.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "anyplace/anyplace.h"

namespace intel_driver {

using anyplace::ErrorCode;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One for the whole run. Prints a line for each step.
class Steps {
 public:
  /// `body` returns what there is to say beside that it passed; it may be empty.
  void run(const char* name, const std::function<std::string()>& body);
  int passed() const { return passed_; }
  int failed() const { return failed_; }

 private:
  int passed_ = 0;
  int failed_ = 0;
};

void expect(bool right, const std::string& what);
/// That `call` throws an Error with this code, whose text holds `part`. Returns its text.
std::string expect_error(ErrorCode code, const std::string& part, const std::function<void()>& call);

/// What the steps share.
struct Machine {
  std::vector<anyplace::Device> devices;
  const anyplace::Device& first() const { return devices.front(); }
};

void device_steps(Steps& steps, const Machine& machine);
void stream_steps(Steps& steps, const Machine& machine);
void event_steps(Steps& steps, const Machine& machine);
void memory_steps(Steps& steps, const Machine& machine);
void copy_steps(Steps& steps, const Machine& machine);
void module_steps(Steps& steps, const Machine& machine);
/// One image that the compiler refuses: Intel's may end the process at the second one.
void damaged_steps(Steps& steps, const Machine& machine);
void image_steps(Steps& steps, const Machine& machine);
void native_steps(Steps& steps, const Machine& machine);
void virtual_memory_steps(Steps& steps, const std::string& plugin);
void ending_steps(Steps& steps, const Machine& machine);

}  // namespace intel_driver
