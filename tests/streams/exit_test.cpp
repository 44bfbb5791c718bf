// SPDX-License-Identifier: Apache-2.0
// The end of a process with work between backends under way.
#include <anyplace/anyplace.h>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <string>

#include "streams/plugins/forward.h"
#include "support/host_gate.h"
#include "support/process.h"

namespace exit_test {

using namespace anyplace;

namespace {

/// What lives on while exit() runs.
struct AtExit {
  test::Forward& forward = test::new_forward();
  test::HostGate gate;
  std::function<void()> before;
};
AtExit* at_exit = nullptr;

void say(const char* text) { static_cast<void>(!::write(1, text, std::string(text).size())); }

/// A stream of sim_c that the core holds for one of cpu_sim, and that says "done" when it may go on.
void hold_a_stream() {
  at_exit = new AtExit;
  at_exit->forward.gates = false;
  at_exit->forward.install("sim_c");
  const Stream blocker(Device("cpu_sim:0"));
  const Stream held(Device("sim_c:0"));
  at_exit->gate.block(blocker);
  held.wait_stream(blocker);
  held.launch_host_func([] { say("done\n"); });
}

}  // namespace

TEST_CASE("Given a held stream when the process exits and what it waits for completes then its work does too") {
  const test::Ended result = test::in_child([] {
    hold_a_stream();
    // Registered after the backends' own handler, hence run before it.
    std::atexit([] { at_exit->gate.open(); });
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.signal == 0);
  REQUIRE(result.status == 0);
  REQUIRE(result.out.find("done") != std::string::npos);
}

TEST_CASE("Given a held stream when the process exits and it never may go on then the exit is bounded and says so") {
  const test::Ended result = test::in_child([] {
    hold_a_stream();
    return 0;
  });
  INFO(result.out);
  REQUIRE_FALSE(result.hung);
  REQUIRE(result.signal == 0);
  REQUIRE(result.out.find("done") == std::string::npos);
  REQUIRE(result.out.find("left behind") != std::string::npos);
}

}  // namespace exit_test
