/* SPDX-License-Identifier: Apache-2.0
 *
 * The frozen headers, compiled as C++, are version 1.0. */
#include "v1/anyplace/backend/abi.h"

#define ANYPLACE_GOLDEN_EXACT
#include "golden_asserts.h"

static_assert(ANYPLACE_ABI_MAJOR == 1u);
