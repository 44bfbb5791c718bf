// SPDX-License-Identifier: Apache-2.0
//
// What comes before every entry, for the double's other files.
#ifndef ANYPLACE_TESTS_DOUBLES_LEVELZERO_EXPORTS_H
#define ANYPLACE_TESTS_DOUBLES_LEVELZERO_EXPORTS_H

#include "../engine/call_book.h"

namespace anyplace::doubles::levelzero {

CallBook& call_book();
/// In a child that was forked after zeInit.
bool was_forked() noexcept;

}  // namespace anyplace::doubles::levelzero

#endif  // ANYPLACE_TESTS_DOUBLES_LEVELZERO_EXPORTS_H
