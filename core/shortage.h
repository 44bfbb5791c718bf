// SPDX-License-Identifier: Apache-2.0
//
// What has run out and may be there again a moment later: memory, descriptors, processes. Such a failure is the call's,
// and no verdict about a file, a backend or a device: nothing that it says is kept.
#pragma once

#include <string>

#include "anyplace/backend/kit/shortage.h"
#include "anyplace/error.h"

namespace anyplace::detail {

using backend::is_shortage;
using backend::linker_shortage;

/// Throws out_of_memory: `text` and the error's own, and that the next use tries again.
[[noreturn]] void fail_for_now(std::string place, const char* operation, const std::string& text, int error);

/// Makes what no_memory_error() gives. Throws bad_alloc.
void prepare_no_memory_error();
/// For whom there is no memory to make the Error that there ought to be: one that says so. Made before a backend is
/// loaded.
const Error& no_memory_error() noexcept;

/// The Error that `make` returns, or the one above.
template <class Make>
Error error_or_shortage(Make&& make) noexcept {
  try {
    return make();
  } catch (...) {
    return no_memory_error();
  }
}

}  // namespace anyplace::detail
