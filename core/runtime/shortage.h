// SPDX-License-Identifier: Apache-2.0
//
// Shortages: memory, descriptors or processes that have run out and may be available again a moment later. Such a
// failure ends the call, but says nothing about a file, a backend or a device, so nothing about them is remembered.
#pragma once

#include <string>

#include "anyplace/backend/kit/shortage.h"
#include "anyplace/error.h"

namespace anyplace::detail {

using backend::is_shortage;
using backend::linker_shortage;

/// Throws out_of_memory with `text`, the text of `error`, and the advice that the next use tries again.
[[noreturn]] void fail_for_now(std::string place, const char* operation, const std::string& text, int error);

/// Makes the Error that no_memory_error() returns. Throws bad_alloc.
void prepare_no_memory_error();
/// An Error for when there is no memory to make the right one. It was made before a backend was loaded.
const Error& no_memory_error() noexcept;

/// The Error that `make` returns, or no_memory_error() if `make` throws.
template <class Make>
Error error_or_shortage(Make&& make) noexcept {
  try {
    return make();
  } catch (...) {
    return no_memory_error();
  }
}

}  // namespace anyplace::detail
