// SPDX-License-Identifier: Apache-2.0
// Runs a compilation: in a process of its own, anyplace_compile_helper, or in this one. Leaves no file and no process.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "anyplace/backend/compiler.h"
#include "compile/job.h"

namespace anyplace::detail {

struct HelperLimits {
  std::chrono::nanoseconds timeout;
  std::uint64_t memory_bytes;
};
/// Compiles, and waits for the end. Throws timeout, out_of_memory, backend_failed if the process can't be started, and
/// library_missing if the helper or the dialect's headers aren't installed.
/// If it ends in another way than by its result, the result is BACKEND_FAILED, with what it has printed.
CompileResult compile_in_helper(const CompileJob& job, const HelperLimits& limits, const std::string& compiler);
/// Compiles on this thread, without limits. Throws library_missing if the dialect's headers aren't installed.
CompileResult compile_here(const CompileJob& job, const anyplace_compiler_table& table);

}  // namespace anyplace::detail
