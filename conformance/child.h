// SPDX-License-Identifier: Apache-2.0
//
// The child's side: what a forked process does to run one case, or to find out about the place. Neither function
// returns.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "conformance.h"
#include "shared_page.h"
#include "suite.h"

namespace anyplace::conformance {

/// The surroundings of a case, as the parent knows them.
struct Surroundings {
  std::string place;  ///< the given place, until the first child has found the device
  std::string plugin;
  std::string module;
  std::string other;
  int device_count = 0;
  std::string plugin_file;  ///< the plugin of the place, once the first child has found it
};

/// Fills page.discovery, or fails with the reason.
[[noreturn]] void discover_in_child(SharedPage& page, const Surroundings& surroundings);

[[noreturn]] void run_case_in_child(SharedPage& page, const Surroundings& surroundings,
                                    const CaseDefinition& definition, std::uint64_t seed);

/// Such as "SIGSEGV".
std::string signal_text(int number);

/// The process that runs the case, known to it and to the processes that it forks; 0 in the one that runs the suite.
pid_t case_process() noexcept;

}  // namespace anyplace::conformance
