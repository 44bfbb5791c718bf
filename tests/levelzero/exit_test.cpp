// SPDX-License-Identifier: Apache-2.0
//
// The end of a process with work under way. Behind the backend's own end comes the driver's, whose destructors crash
// who is in a call of it then, or makes another.
#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

#include "support.h"
#include "support/host_gate.h"
#include "support/process.h"

namespace exit_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

/// What lives on while the process exits.
struct Left {
  Double ze{{{"LEVELZERO_DOUBLE_FRAGILE_END", "1"},
             // Who asks again and again is nearly always in the call.
             {"LEVELZERO_DOUBLE_SLOW", "zeEventQueryStatus:zeEventHostSignal"},
             {"LEVELZERO_DOUBLE_SLOW_MS", "200"}}};
  Device device{"levelzero:0"};
  Stream stream{device};
  Buffer buffer{stream, 4096};
  std::vector<std::byte> own = std::vector<std::byte>(4096);
  test::HostGate gate;
};

/// Submits, in a child, and exits.
test::Ended exit_with(const std::function<void(Left&)>& submit) {
  return test::in_child([&] {
    static Left* left = nullptr;
    left = new Left;
    left->stream.synchronize();
    // What is left behind is said when the backend has ended and the driver hasn't yet: now blocked steps go on.
    anyplace::set_error_handler([](const anyplace::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      left->gate.open();
    });
    submit(*left);
    return 0;
  });
}

void check_left_behind(const test::Ended& result) {
  INFO(result.out);
  CHECK_FALSE(result.hung);
  CHECK(result.signal == 0);
  CHECK_THAT(result.out, Contains("left behind") && !Contains("had ended"));
}

}  // namespace

TEST_CASE("When an exit leaves work behind no thread of the backend's is in the driver at its end") {
  check_left_behind(exit_with([](Left& left) {
    REQUIRE(left.ze.hold(0, true));
    left.stream.copy(left.own, left.buffer);
    left.stream.launch_host_func([] {});
  }));
}

TEST_CASE("When an exit leaves a host function that returns later nothing is called behind it") {
  check_left_behind(exit_with([](Left& left) {
    left.gate.block(left.stream);
    left.gate.wait_until_reached();
    left.stream.copy(left.buffer, left.own);
  }));
}

TEST_CASE("When a lost device's host function returns later than the exit waits nothing is called behind it") {
  check_left_behind(exit_with([](Left& left) {
    left.gate.block(left.stream);
    left.gate.wait_until_reached();
    left.stream.copy(left.buffer, left.own);
    REQUIRE(left.ze.fail_device(0, device_lost));
    CHECK(test::code_of([&] { left.stream.synchronize(); }) == ErrorCode::device_lost);
  }));
}

}  // namespace exit_test
