// SPDX-License-Identifier: Apache-2.0
// What runs out at the first use of a backend is no verdict on it.
#include <catch2/catch.hpp>
#include <string>

#include "anyplace/anyplace.h"
#include "support/environment.h"
#include "support/few_descriptors.h"

namespace shortage_cases {

TEST_CASE("Given too few descriptors at the first use then the error says so and the next use with enough succeeds") {
  if (test::descriptors_are_needed_by_sanitizer()) return;
  bool any_refused = false;
  for (int left = 0; left < 8; ++left) {
    const std::string outcome = test::use_with_descriptors("cpu_sim:0", left);
    INFO(left << " descriptors: " << outcome);
    CHECK((outcome == "used" || outcome == "refused"));
    any_refused = any_refused || outcome == "refused";
  }
  CHECK(any_refused);
  CHECK(test::use_with_descriptors("cpu_sim:0", 8) == "used");
}

TEST_CASE("Given too few descriptors when auto looks for a device then it doesn't make do with another backend") {
  if (test::descriptors_are_needed_by_sanitizer()) return;
  test::set_env("ANYPLACE_AUTO", "cpu_sim");
  CHECK(test::use_with_descriptors("auto", 0) == "refused");
}

TEST_CASE("Given a switch in the environment that is neither 0 nor 1 then it is said once what is allowed") {
  for (const char* const name : {"ANYPLACE_MEMBARRIER", "ANYPLACE_LOG"}) {
    for (const char* const text : {"yes", "2", "01", "on ", "\xff\n"}) {
      const test::Ended result = test::in_child([&] {
        test::set_env(name, text);
        for (int i = 0; i < 2; ++i) {
          const anyplace::Stream stream{anyplace::Device("cpu_sim:0")};
          stream.synchronize();
        }
        return 0;
      });
      INFO(name << "=" << text << ": " << result.out);
      CHECK(result.status == 0);
      CHECK(result.out.find(name) != std::string::npos);
      CHECK(result.out.find("allowed are 0 (off) and 1 (on)") != std::string::npos);
      CHECK(result.out.find(name) == result.out.rfind(name));
    }
    for (const char* const text : {"", "0", "1"}) {
      const test::Ended result = test::in_child([&] {
        test::set_env(name, text);
        const anyplace::Stream stream{anyplace::Device("cpu_sim:0")};
        stream.synchronize();
        return 0;
      });
      INFO(name << "=" << text << ": " << result.out);
      CHECK(result.status == 0);
      CHECK(result.out.find(name) == std::string::npos);
    }
  }
}

}  // namespace shortage_cases
