// SPDX-License-Identifier: Apache-2.0
// Dynamic shared memory that a header declares, which device_code.cu includes by way of extern_shared_first.h.
#pragma once

template <class Number>
__device__ Number* memory_of_the_launch() {
  extern __shared__ Number of_the_launch_in_a_header[];
  return of_the_launch_in_a_header;
}
