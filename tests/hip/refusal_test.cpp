// SPDX-License-Identifier: Apache-2.0
//
// Libraries that the backend can't work with, and those that it can work with in part. Each is a child: a process loads
// one.
#include <string>
#include <vector>

#include "anyplace/plugins.h"
#include "support.h"
#include "support/child.h"

namespace {

using namespace hip_test;
using anyplace::Device;
using anyplace::Stream;

/// What a process with that environment gets for hip:0: "ok" and the capabilities, or the code of the refusal and why.
std::string outcome_with(Variables environment) {
  const test::ChildResult child = test::in_child([&] {
    for (const auto& [name, value] : environment) test::set_env(name, value);
    try {
      const Device device("hip:0");
      std::string text = "ok";
      for (const anyplace::Capability capability : device.properties().capabilities) {
        text += std::string(" ") + to_string(capability);
      }
      std::printf("%s\n", text.c_str());
    } catch (const anyplace::Error& error) {
      std::printf("%s\n", error.what());
      for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
        if (candidate.name != "hip" || candidate.state != anyplace::PluginCandidate::State::refused) continue;
        std::printf("refused: %s: %s\n", to_string(candidate.code), candidate.reason.c_str());
      }
    }
    return 0;
  });
  CHECK_FALSE(child.timed_out);
  CHECK(child.signal == 0);
  return child.output;
}

/// Refused with that code, and both the Error and the list of candidates say why.
void check_refused(Variables environment, const std::string& code, const std::vector<std::string>& reasons) {
  const std::string outcome = outcome_with(environment);
  INFO(outcome);
  const std::size_t listed = outcome.find("refused: " + code + ": ");
  REQUIRE(listed != std::string::npos);
  for (const std::string& reason : reasons) {
    CHECK_THAT(outcome.substr(0, listed), contains(reason));
    CHECK_THAT(outcome.substr(listed), contains(reason));
  }
}

bool has(const std::string& outcome, const char* capability) {
  return outcome.find(std::string(" ") + capability) != std::string::npos;
}

}  // namespace

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

TEST_CASE("The last device is as good as the first") {
  const Double hip({{"HIP_DOUBLE_DEVICES", "9"}});
  const Stream stream(Device("hip:8"));
  const anyplace::Buffer numbers(stream, 4096);
  stream.memset32(numbers, 1);
  stream.synchronize();
}

TEST_CASE("Events that never complete hold up neither queries nor waits with a limit nor the end of the process") {
  const test::ChildResult child = test::in_child([] {
    const anyplace::doubles::Control hip(library_name, true);
    const Device device("hip:0");
    static Stream& kept = *new Stream(device);
    kept.synchronize();
    hip.hold(0, true);
    {
      const Stream stream(device);
      const anyplace::Event event(device);
      const anyplace::Buffer numbers(stream, 4096);
      stream.memset32(numbers, 1);
      kept.wait_stream(stream);
      event.record(stream);
      const bool none = !stream.query() && !event.query() && !stream.synchronize(std::chrono::milliseconds(1)) &&
                        !event.synchronize(std::chrono::milliseconds(1)) &&
                        !device.synchronize(std::chrono::milliseconds(1));
      std::printf("%s\n", none ? "not done" : "done");
    }
    std::exit(0);
    return 0;
  });
  INFO(child.output);
  CHECK_FALSE(child.timed_out);
  CHECK(child.signal == 0);
  CHECK_THAT(child.output, contains("not done"));
}
