// SPDX-License-Identifier: Apache-2.0
//
// Libraries that the backend can't work with, and those that it can work with in part. Each is a child: a process loads
// one.
#include "cuda_and_hip/outcome.h"

namespace refusal_test {

using namespace vendor_test;

TEST_CASE("A runtime that finds no device is refused as having none whichever code it has for that") {
  check_refused({{"HIP_DOUBLE_INIT", "100"}}, "no_such_device", {"hipErrorNoDevice", "finds no device", "libamdhip64"});
  check_refused({{"HIP_DOUBLE_INIT", "101"}}, "no_such_device", {"hipErrorInvalidDevice", "finds no device"});
  check_refused({{"HIP_DOUBLE_DEVICES", "0"}}, "no_such_device", {"finds no device"});
  check_refused({{"HIP_DOUBLE_DEVICES", "0"}, {"HIP_DOUBLE_VERSION", "50221153"}}, "no_such_device",
                {"hipErrorInvalidDevice", "finds no device"});
}

TEST_CASE("A runtime whose devices are hidden is refused with the variable that may hide them") {
  check_refused({{"HIP_VISIBLE_DEVICES", ""}}, "no_such_device", {"HIP_VISIBLE_DEVICES is \"\""});
  check_refused({{"HIP_VISIBLE_DEVICES", "7"}, {"ROCR_VISIBLE_DEVICES", "1"}}, "no_such_device",
                {"HIP_VISIBLE_DEVICES is \"7\"", "ROCR_VISIBLE_DEVICES is \"1\""});
}

TEST_CASE("A runtime that does not start is refused with what to do") {
  check_refused({{"HIP_DOUBLE_INIT", "35"}}, "no_driver", {"older", "amdgpu"});
  check_refused({{"HIP_DOUBLE_INIT", "999"}}, "no_driver", {"rocminfo", "dmesg"});
}

TEST_CASE("A device without a capability says so") {
  const std::string all = outcome_with({});
  INFO(all);
  CHECK(all.substr(0, 2) == "ok");
  for (const char* capability : {"gates", "managed_memory", "stream_ordered_memory", "virtual_memory"}) {
    CHECK(has(all, capability));
  }
  CHECK_FALSE(has(outcome_with({{"HIP_DOUBLE_WAIT_VALUE", "0"}}), "gates"));
  CHECK_FALSE(has(outcome_with({{"HIP_DOUBLE_MANAGED", "0"}}), "managed_memory"));
  CHECK_FALSE(has(outcome_with({{"HIP_DOUBLE_POOLS", "0"}}), "stream_ordered_memory"));
  CHECK_FALSE(has(outcome_with({{"HIP_DOUBLE_VIRTUAL_MEMORY", "0"}}), "virtual_memory"));
}

TEST_CASE("Each major from 5 to 7 is taken") {
  for (const char* version : {"50221153", "50731921", "60032830", "60443484", "70051831"}) {
    const std::string outcome = outcome_with({{"HIP_DOUBLE_VERSION", version}});
    INFO(version << ": " << outcome);
    CHECK(outcome.substr(0, 2) == "ok");
    CHECK(has(outcome, "virtual_memory") == (version[0] > '5'));
    CHECK(has(outcome, "interprocess_events") == (version[0] > '5'));
  }
}

}  // namespace refusal_test
