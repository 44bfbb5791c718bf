// SPDX-License-Identifier: Apache-2.0
//
// anyplace's errors as torch's: out of memory becomes torch.OutOfMemoryError, every other code a RuntimeError, with all
// that anyplace says in the text.
#pragma once

#include <anyplace/error.h>

#include <utility>

namespace anyplace_torch {

/// Throws c10::OutOfMemoryError or c10::Error.
[[noreturn]] void rethrow(const anyplace::Error& error);

/// Runs `function`; what anyplace throws in it leaves as torch's. Wraps every use of anyplace that torch can come to.
template <class Function>
decltype(auto) call(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const anyplace::Error& error) {
    rethrow(error);
  }
}

}  // namespace anyplace_torch
