// SPDX-License-Identifier: Apache-2.0
// `extern __shared__` in the headers that a source includes, for the host and for SPIR-V, where no variable can be
// that.
#pragma once

#include <string>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// The request's source. If a header that it includes from the request's folders declares dynamic shared memory, then
/// those headers are copied below request.folder with ANYPLACE_DYNAMIC_SHARED in its place, the source's #includes name
/// the copies, and the sink gets the headers themselves. Every line has the number and, in messages, the file that it
/// had. Headers that are found otherwise (by the compiler's options, or a macro in #include) stay as they are.
std::string source_with_header_copies(const anyplace_compile_request& request, const anyplace_compile_sink& sink);

}  // namespace anyplace::compilers
