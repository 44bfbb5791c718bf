// SPDX-License-Identifier: Apache-2.0
#pragma once

__device__ inline unsigned power_of(unsigned x) {
  unsigned product = 1;
  for (int i = 0; i < POWER; ++i) product *= x;
  return product;
}
