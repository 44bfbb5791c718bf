// SPDX-License-Identifier: Apache-2.0
//
// What a program sees of a backend that this machine has no driver or no device for.
#pragma once

#include <catch2/catch.hpp>
#include <iostream>
#include <string>

#include "anyplace/anyplace.h"
#include "cli/run_command.h"
#include "support/errors.h"
#include "support/process.h"

namespace vendor_test {

using anyplace::test::run_command;
using anyplace::test::Variables;
using Catch::Contains;

inline void check_that_cpu_sim_works() {
  CHECK(anyplace::Device("auto").backend() == "cpu_sim");
  const anyplace::Stream stream(anyplace::Device("cpu_sim:0"));
  stream.synchronize();
}

/// The plugin, which no other hides.
inline anyplace::PluginCandidate refused_candidate(const std::string& backend) {
  for (const anyplace::PluginCandidate& candidate : anyplace::plugin_candidates()) {
    if (candidate.name == backend && candidate.state == anyplace::PluginCandidate::State::refused) return candidate;
  }
  FAIL(backend << " is not among those that were refused");
  return {};
}

/// The command has no device of the backend: what `info` says of it.
inline anyplace::test::Run info_of_missing_device(const std::string& backend, const Variables& variables = {}) {
  const anyplace::test::Run info = run_command({"info", backend + ":0"}, variables);
  CHECK(info.status == 1);
  CHECK(run_command({"info", "cpu_sim:0"}, variables).status == 0);
  return info;
}

/// Tells ctest that a case was left out.
inline void skip(const std::string& why) { std::cout << "ANYPLACE_TEST_SKIPPED: " << why << "\n"; }

}  // namespace vendor_test
