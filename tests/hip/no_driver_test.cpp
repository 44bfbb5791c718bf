// SPDX-License-Identifier: Apache-2.0
//
// A machine without a GPU of AMD's, with ROCm's runtime (Debian's libamdhip64-5) or without: what is said of hip:0, by
// the library and by the command, and that cpu_sim is none the worse.
#include <dlfcn.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "anyplace/anyplace.h"
#include "cli/run_command.h"
#include "support/child.h"
#include "support/errors.h"

namespace {

using anyplace::test::run_command;
using Catch::Contains;

/// Of the libraries that the backend takes, what a process gets; "" for none. In a child, so that none is loaded here.
std::string library_of_machine() {
  const test::ChildResult child = test::in_child([] {
    for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
      if (dlopen(name, RTLD_NOW | RTLD_LOCAL) == nullptr) continue;
      std::printf("%s", name);
      break;
    }
    return 0;
  });
  return child.output;
}

bool has_device() { return access("/dev/kfd", F_OK) == 0; }

void check_that_cpu_sim_works() {
  CHECK(anyplace::Device("auto").backend() == "cpu_sim");
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.synchronize();
}

anyplace::PluginCandidate refused_candidate() {
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.name == "hip" && candidate.state == anyplace::PluginCandidate::State::refused) return candidate;
  }
  FAIL("hip is not among those that were refused");
  return {};
}

}  // namespace

TEST_CASE("Without ROCm hip is refused by the names of the libraries that are missing") {
  if (const std::string library = library_of_machine(); !library.empty()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: this machine has " << library << "\n";
    return;
  }
  const auto error = test::error_of([] { anyplace::Device("hip:0"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == anyplace::ErrorCode::no_such_backend);
  CHECK_THAT(error->what(), Contains("libamdhip64.so.7") && Contains("libamdhip64.so.5") && Contains("libamdhip64-5"));
  CHECK(refused_candidate().code == anyplace::ErrorCode::library_missing);
  CHECK_THAT(run_command({"doctor"}).out, Contains("libamdhip64"));
  check_that_cpu_sim_works();
}

TEST_CASE("The real runtime without a device says so and nothing is the worse for it") {
  const std::string library = library_of_machine();
  if (library.empty() || has_device()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: " << (library.empty() ? "no libamdhip64 here" : "there is a /dev/kfd") << "\n";
    return;
  }
  const auto error = test::error_of([] { anyplace::Device("hip:0"); });
  REQUIRE(error.has_value());
  INFO(error->what());
  CHECK(error->code() == anyplace::ErrorCode::no_such_device);
  CHECK_THAT(error->what(), Contains(library) && Contains("finds no device") && Contains("/dev/kfd"));
  const anyplace::PluginCandidate candidate = refused_candidate();
  CHECK(candidate.code == anyplace::ErrorCode::no_such_device);
  CHECK_THAT(candidate.reason, Contains("hipErrorNoDevice") || Contains("hipErrorInvalidDevice"));
  check_that_cpu_sim_works();
}

TEST_CASE("The command answers cleanly over the real runtime without a device") {
  if (library_of_machine().empty() || has_device()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: no libamdhip64 here, or a /dev/kfd\n";
    return;
  }
  const auto doctor = run_command({"doctor"});
  CHECK_THAT(doctor.out, Contains("hip: no_such_device") && Contains("finds no device"));
  const auto info = run_command({"info", "hip:0"});
  CHECK(info.status == 1);
  CHECK_THAT(info.err, Contains("finds no device") && Contains("/dev/kfd"));
  CHECK(run_command({"info", "cpu_sim:0"}).status == 0);
}
