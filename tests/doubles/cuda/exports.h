// SPDX-License-Identifier: Apache-2.0
//
// What the controls need to know of the exported entries.
#ifndef ANYPLACE_TESTS_DOUBLES_CUDA_EXPORTS_H
#define ANYPLACE_TESTS_DOUBLES_CUDA_EXPORTS_H

#include "../engine/call_book.h"

namespace anyplace::doubles::cuda {

/// The book of this library's entries. Made at the first call, with the failures that the environment asks for.
CallBook& call_book();

/// Whether cuInit has succeeded, and neither a fork nor the end of the process came since.
bool may_be_called() noexcept;
/// Whether this is a child of a process that had called cuInit.
bool was_forked() noexcept;

}  // namespace anyplace::doubles::cuda

#endif  // ANYPLACE_TESTS_DOUBLES_CUDA_EXPORTS_H
