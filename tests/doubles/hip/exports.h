// SPDX-License-Identifier: Apache-2.0
//
// What the controls need to know of the exported entries.
#ifndef ANYPLACE_TESTS_DOUBLES_HIP_EXPORTS_H
#define ANYPLACE_TESTS_DOUBLES_HIP_EXPORTS_H

#include "../engine/call_book.h"

namespace anyplace::doubles::hip {

/// The book of this library's entries. Made at the first call, with the failures that the environment asks for.
CallBook& call_book();

/// Whether this process is a fork of one that had initialised the double.
bool was_forked() noexcept;

}  // namespace anyplace::doubles::hip

#endif  // ANYPLACE_TESTS_DOUBLES_HIP_EXPORTS_H
