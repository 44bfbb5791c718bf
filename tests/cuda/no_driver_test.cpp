// SPDX-License-Identifier: Apache-2.0
//
// A machine without NVIDIA's driver: what is said of cuda:0, by the library and by the command, and that cpu_sim is
// none the worse. And the toolkit's stub, where there is a toolkit, in the place of the driver.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "anyplace/anyplace.h"
#include "cli/run_command.h"
#include "support/child.h"
#include "support/errors.h"
#include "support/temp_dir.h"

namespace {

using anyplace::test::run_command;
using anyplace::test::Variables;
using Catch::Contains;

/// In a child, so that the library isn't loaded here.
bool machine_has_a_driver() {
  return test::in_child([] { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr ? 1 : 0; }).status != 0;
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
  if (machine_has_a_driver()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: this machine has a libcuda.so.1\n";
    return;
  }
  const auto error = test::error_of([] { anyplace::Device("cuda:0"); });
  REQUIRE(error.has_value());
  CHECK(error->code() == anyplace::ErrorCode::no_such_backend);
  CHECK_THAT(error->what(), Contains("libcuda.so.1") && Contains("NVIDIA's driver"));
  bool listed = false;
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.name != "cuda" || candidate.state == anyplace::PluginCandidate::State::shadowed) continue;
    listed = true;
    CHECK(candidate.state == anyplace::PluginCandidate::State::refused);
    CHECK(candidate.code == anyplace::ErrorCode::library_missing);
    CHECK_THAT(candidate.reason, Contains("libcuda.so.1"));
  }
  CHECK(listed);
  CHECK(anyplace::Device("auto").backend() == "cpu_sim");
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.synchronize();
}

TEST_CASE("Without a driver the command says which library is missing") {
  if (machine_has_a_driver()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: this machine has a libcuda.so.1\n";
    return;
  }
  CHECK_THAT(run_command({"doctor"}).out, Contains("libcuda.so.1"));
  const auto info = run_command({"info", "cuda:0"});
  CHECK(info.status != 0);
  CHECK_THAT(info.err, Contains("libcuda.so.1"));
  CHECK(run_command({"info", "cpu_sim:0"}).status == 0);
}

TEST_CASE("The stub of a toolkit is refused and named as one") {
  const test::TempDir folder;
  const Variables variables = with_stub(folder);
  if (variables.empty()) {
    std::cout << "ANYPLACE_TEST_SKIPPED: no CUDA toolkit with its stub of libcuda.so here\n";
    return;
  }
  const auto info = run_command({"info", "cuda:0"}, variables);
  CHECK(info.status != 0);
  CHECK_THAT(info.err, Contains("stub") && Contains("libcuda.so.1"));
  const auto doctor = run_command({"doctor"}, variables);
  CHECK_THAT(doctor.out, Contains("stub"));
  CHECK(run_command({"info", "cpu_sim:0"}, variables).status == 0);
}
