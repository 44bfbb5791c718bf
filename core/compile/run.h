// SPDX-License-Identifier: Apache-2.0
// Runs a compilation in a process of its own, anyplace_compile_helper.
#pragma once

#include <chrono>
#include <cstdint>

#include "compile/job.h"

namespace anyplace::detail {

/// Compiles, and waits for the end. Leaves no file and no process. Throws timeout, out_of_memory, and backend_failed if
/// the process can't be started or ends in another way than by its result, with what it has printed.
CompileResult run_compiler(const CompileJob& job, std::chrono::nanoseconds timeout, std::uint64_t memory_limit,
                           const std::string& compiler);

}  // namespace anyplace::detail
