// SPDX-License-Identifier: Apache-2.0
// Calls a compiler's plugin for a job: in anyplace_compile_helper, and in the application's process if it asks for
// that.
#pragma once

#include <string>

#include "anyplace/backend/compiler.h"
#include "compile/job.h"

namespace anyplace::detail {

/// Compiles in this process. `headers` is the folder of the dialect's headers, and `folder` an empty one for the
/// compiler. The message of the result stays empty: the host that the plugin was given has it.
CompileResult call_compiler(const anyplace_compiler_table& table, const CompileJob& job, const std::string& headers,
                            const std::string& folder);

}  // namespace anyplace::detail
