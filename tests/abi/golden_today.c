/* SPDX-License-Identifier: Apache-2.0
 *
 * Today's plugin boundary, compiled as C11, still has the layout of version 1.0. */
#include "anyplace/backend/abi.h"
#include "golden_asserts.h"

/* C has no empty translation units. */
extern const int anyplace_golden_today_c;
const int anyplace_golden_today_c = 1;
