// SPDX-License-Identifier: Apache-2.0
//
// A machine without a GPU of AMD's, with ROCm's runtime (Debian's libamdhip64-5) or without: what is said of hip:0, by
// the library and by the command, and that cpu_sim is none the worse.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cuda_and_hip/absence.h"

namespace no_driver_test {

namespace {

using namespace vendor_test;

/// Of the libraries that the backend takes, what a process gets; "" for none. In a child, so that none is loaded here.
std::string library_of_machine() {
  const test::Ended child = test::in_child([] {
    for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
      if (dlopen(name, RTLD_NOW | RTLD_LOCAL) == nullptr) continue;
      std::printf("%s", name);
      break;
    }
    return 0;
  });
  return child.out;
}

bool has_device() { return access("/dev/kfd", F_OK) == 0; }

}  // namespace

TEST_CASE("Without ROCm hip is refused by the names of the libraries that are missing") {
  if (const std::string library = library_of_machine(); !library.empty()) {
    skip("this machine has " + library);
    return;
  }
  const anyplace::Error error =
      test::required_error(anyplace::ErrorCode::no_such_backend, [] { anyplace::Device("hip:0"); });
  CHECK_THAT(error.what(), Contains("libamdhip64.so.7") && Contains("libamdhip64.so.5") && Contains("libamdhip64-5"));
  CHECK(refused_candidate("hip").code == anyplace::ErrorCode::library_missing);
  CHECK_THAT(run_command({"doctor"}).out, Contains("libamdhip64"));
  check_that_cpu_sim_works();
}

TEST_CASE("The real runtime without a device says so and nothing is the worse for it") {
  const std::string library = library_of_machine();
  if (library.empty() || has_device()) {
    skip(library.empty() ? "no libamdhip64 here" : "there is a /dev/kfd");
    return;
  }
  const anyplace::Error error =
      test::required_error(anyplace::ErrorCode::no_such_device, [] { anyplace::Device("hip:0"); });
  CHECK_THAT(error.what(), Contains(library) && Contains("finds no device") && Contains("/dev/kfd"));
  const anyplace::PluginCandidate candidate = refused_candidate("hip");
  CHECK(candidate.code == anyplace::ErrorCode::no_such_device);
  CHECK_THAT(candidate.reason, Contains("hipErrorNoDevice") || Contains("hipErrorInvalidDevice"));
  check_that_cpu_sim_works();
}

TEST_CASE("The command answers cleanly over the real runtime without a device") {
  if (library_of_machine().empty() || has_device()) {
    skip("no libamdhip64 here, or a /dev/kfd");
    return;
  }
  const auto doctor = run_command({"doctor"});
  CHECK_THAT(doctor.out, Contains("hip: no_such_device") && Contains("finds no device"));
  CHECK_THAT(info_of_missing_device("hip").err, Contains("finds no device") && Contains("/dev/kfd"));
}

}  // namespace no_driver_test
