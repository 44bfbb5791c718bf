// SPDX-License-Identifier: Apache-2.0
//
// The child's side: what a forked process does with one case, or to find out about the place. Neither function returns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "conformance.h"
#include "shared_page.h"
#include "suite.h"

namespace anyplace::conformance {

/// Where a case runs, as the parent knows it.
struct Surroundings {
  std::string place;  ///< as it was given, until the first child has found the device's own
  std::string plugin;
  std::string module;
  std::string other;
  int device_count = 0;
  std::string plugin_file;  ///< of the place's backend, once the first child has found it
};

/// Fills page.discovery, or fails with the reason.
[[noreturn]] void discover_in_child(SharedPage& page, const Surroundings& surroundings);

[[noreturn]] void run_case_in_child(SharedPage& page, const Surroundings& surroundings,
                                    const CaseDefinition& definition, std::uint64_t seed);

/// "SIGSEGV"
std::string signal_text(int number);

/// The process that runs a case, as that process and those that it forks know it; 0 in the one that runs the suite.
pid_t case_process() noexcept;

}  // namespace anyplace::conformance
