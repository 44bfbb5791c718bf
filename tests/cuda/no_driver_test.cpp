// SPDX-License-Identifier: Apache-2.0
//
// A machine without NVIDIA's driver: what is said of cuda:0, by the library and by the command, and that cpu_sim is
// none the worse. And the toolkit's stub, where there is a toolkit, in the place of the driver.
#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "cuda_and_hip/absence.h"
#include "support/temp_dir.h"

namespace no_driver_test {

namespace {

using namespace vendor_test;

/// Whether the case is left out for that. The driver is looked for in a child, so that the library isn't loaded here.
bool machine_has_a_driver() {
  const auto look = [] { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr ? 1 : 0; };
  if (test::in_child(look).status == 0) return false;
  skip("this machine has a libcuda.so.1");
  return true;
}

/// A folder of the stub under the driver's name; the environment that puts it first. Empty where there is no toolkit.
Variables with_stub(const test::TempDir& folder) {
  const std::string stub = ANYPLACE_CUDA_STUB;
  if (stub.empty() || !std::filesystem::exists(stub)) return {};
  std::filesystem::create_symlink(stub, folder / "libcuda.so.1");
  return {{"LD_LIBRARY_PATH", folder.path().string()}};
}

}  // namespace

TEST_CASE("Without a driver cuda is refused by the name of the library that is missing") {
  if (machine_has_a_driver()) return;
  const anyplace::Error error =
      test::required_error(anyplace::ErrorCode::no_such_backend, [] { anyplace::Device("cuda:0"); });
  CHECK_THAT(error.what(), Contains("libcuda.so.1") && Contains("NVIDIA's driver"));
  const anyplace::PluginCandidate candidate = refused_candidate("cuda");
  CHECK(candidate.code == anyplace::ErrorCode::library_missing);
  CHECK_THAT(candidate.reason, Contains("libcuda.so.1"));
  check_that_cpu_sim_works();
}

TEST_CASE("Without a driver the command says which library is missing") {
  if (machine_has_a_driver()) return;
  CHECK_THAT(run_command({"doctor"}).out, Contains("libcuda.so.1"));
  CHECK_THAT(info_of_missing_device("cuda").err, Contains("libcuda.so.1"));
}

TEST_CASE("The stub of a toolkit is refused and named as one") {
  const test::TempDir folder;
  const Variables variables = with_stub(folder);
  if (variables.empty()) {
    skip("no CUDA toolkit with its stub of libcuda.so here");
    return;
  }
  CHECK_THAT(info_of_missing_device("cuda", variables).err, Contains("stub") && Contains("libcuda.so.1"));
  CHECK_THAT(run_command({"doctor"}, variables).out, Contains("stub"));
}

}  // namespace no_driver_test
