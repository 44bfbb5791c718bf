/* SPDX-License-Identifier: Apache-2.0
 *
 * Today's plugin boundary, compiled as C++, still has the layout of version 1.0. */
#include "anyplace/backend/abi.h"
#include "golden_asserts.h"

static_assert(ANYPLACE_ABI_MAJOR == 1u);
