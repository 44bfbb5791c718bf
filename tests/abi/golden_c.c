/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin boundary, compiled as C11, has the layout of golden.h. */
#include "anyplace/backend/abi.h"
#include "golden_asserts.h"

/* C has no empty translation units. */
extern const int anyplace_golden_c;
const int anyplace_golden_c = 1;
