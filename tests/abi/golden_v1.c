/* SPDX-License-Identifier: Apache-2.0
 *
 * The frozen headers, compiled as C11, are version 1.0. */
#include "v1/anyplace/backend/abi.h"

#define ANYPLACE_GOLDEN_EXACT
#include "golden_asserts.h"

/* C has no empty translation units. */
extern const int anyplace_golden_v1_c;
const int anyplace_golden_v1_c = 1;
