// SPDX-License-Identifier: Apache-2.0
//
// Runs a program, a hidden case of this test program, in a process of its own under a strategy of the deterministic
// mode.
#pragma once

#include <string>

#include "support/process.h"
#include "support/temp_dir.h"

namespace cpu_sim_test {

struct Scheduled : test::Ended {
  std::string report;
};

/// Runs the program under a strategy.
inline Scheduled run(const std::string& program, const std::string& strategy, const std::string& seed = "0",
                     test::Variables variables = {}) {
  const test::TempDir folder;
  variables["ANYPLACE_CPU_SIM_MODE"] = "deterministic";
  variables["ANYPLACE_CPU_SIM_STRATEGY"] = strategy;
  variables["ANYPLACE_CPU_SIM_SEED"] = seed;
  variables["ANYPLACE_CPU_SIM_REPORT"] = folder.file("report");
  Scheduled ended;
  static_cast<test::Ended&>(ended) = test::Process({"/proc/self/exe", "[." + program + "]"}, variables).end();
  ended.report = test::read_file(folder / "report");
  return ended;
}

}  // namespace cpu_sim_test
