/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin boundary, compiled as C++, has the layout of golden.h. */
#include "anyplace/backend/abi.h"
#include "golden_asserts.h"

static_assert(ANYPLACE_ABI_MAJOR == 1u);
