// SPDX-License-Identifier: Apache-2.0
//
// Kernels without barriers. Of those whose names end in _joined, neighbouring blocks run as one; the others, which end in
// _alone, have in one way each what forbids it.
#include <anyplace/device_code.h>

#define ROW_KERNEL(name)        \
  extern "C" __global__ void name( \
      unsigned* to, [[maybe_unused]] const unsigned* from, [[maybe_unused]] unsigned count)
/// Of the thread: its number in the row of the grid, and in the grid.
#define ROW_THREAD                                                                        \
  [[maybe_unused]] const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;              \
  [[maybe_unused]] const unsigned row_length = gridDim.x * blockDim.x;                    \
  const unsigned rows_before = threadIdx.y + blockDim.y * (threadIdx.z + blockDim.z * blockIdx.y); \
  const unsigned i = x + row_length * rows_before

ROW_KERNEL(guarded_joined) {
  ROW_THREAD;
  if (x < row_length / 2 + 3) to[i] = 3 * from[i % count] + x;
}

/// The sum wraps within the row.
ROW_KERNEL(wrapping_joined) {
  ROW_THREAD;
  to[i] = x + 4294967200u < 77 ? i : from[x % count];
}

ROW_KERNEL(signed_joined) {
  ROW_THREAD;
  const int number = static_cast<int>(blockIdx.x) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  if (number - 100 >= -50) to[i] = static_cast<unsigned>(number - 100);
}

ROW_KERNEL(wide_joined) {
  const unsigned long long x = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long rows = threadIdx.y + blockDim.y * (threadIdx.z + blockDim.z * blockIdx.y);
  if (x * 3 == count) return;
  to[x + rows * gridDim.x * blockDim.x] = from[x % count] + (x > 21 ? 5 : 0);
}

ROW_KERNEL(loop_joined) {
  ROW_THREAD;
  unsigned sum = 0;
  for (unsigned k = 0; k < from[x % count] % 5; ++k) sum = 31 * sum + from[(i + k) % count];
  to[i] = sum;
}

ROW_KERNEL(array_joined) {
  ROW_THREAD;
  unsigned own[4] = {i, 0, 0, 0};
  for (unsigned k = 0; k < 6; ++k) own[from[(x + k) % count] & 3] += k + own[0];
  to[i] = own[0] + 3 * own[1] + 5 * own[2] + 7 * own[3];
}

ROW_KERNEL(thread_alone) {
  ROW_THREAD;
  to[i] = x + 5 * threadIdx.x;
}

ROW_KERNEL(block_alone) {
  ROW_THREAD;
  to[i] = x + 5 * blockIdx.x;
}

ROW_KERNEL(first_of_block_alone) {
  ROW_THREAD;
  to[i] = x ^ blockIdx.x * blockDim.x;
}

ROW_KERNEL(constant_size_alone) {
  ROW_THREAD;
  to[i] = blockIdx.x * 16 + threadIdx.x;
}

ROW_KERNEL(other_size_alone) {
  ROW_THREAD;
  to[i] = blockIdx.x * blockDim.y + threadIdx.x;
}

ROW_KERNEL(atomic_alone) {
  ROW_THREAD;
  atomicAdd(&to[i], x);
}

ROW_KERNEL(dynamic_alone) {
  ROW_THREAD;
  ANYPLACE_DYNAMIC_SHARED(unsigned, all);
  if (x == 4294967295u) all[0] = 1;
  to[i] = x;
}

ROW_KERNEL(shared_alone) {
  ROW_THREAD;
  __shared__ unsigned last;
  last = x;
  to[i] = last;
}

ROW_KERNEL(throws_alone) {
  ROW_THREAD;
  if (x == 4294967295u) throw 1;
  to[i] = x;
}

ROW_KERNEL(volatile_alone) {
  ROW_THREAD;
  *static_cast<volatile unsigned*>(&to[i]) = x;
}

ROW_KERNEL(prints_alone) {
  ROW_THREAD;
  if (x == 4294967295u) printf("%u", i);
  to[i] = x;
}

ANYPLACE_EXPORT_KERNELS(guarded_joined, wrapping_joined, signed_joined, wide_joined, loop_joined, array_joined, thread_alone, block_alone,
                        first_of_block_alone, constant_size_alone, other_size_alone, atomic_alone, dynamic_alone, shared_alone,
                        throws_alone, volatile_alone, prints_alone);
