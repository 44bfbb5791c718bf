// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are odd in one way each. What they write doesn't depend on the order of threads.
#include <anyplace/device_code.h>

#define ODD_KERNEL(name)        \
  extern "C" __global__ void name( \
      unsigned* to, [[maybe_unused]] const unsigned* from, [[maybe_unused]] unsigned count)
#define ODD_THREAD                                                                                  \
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);           \
  [[maybe_unused]] const unsigned n = blockDim.x * blockDim.y * blockDim.z;                         \
  [[maybe_unused]] const unsigned i = blockIdx.x * n + t

struct FourSums {
  unsigned values[4];
  unsigned at;
  __device__ void add(unsigned x) { values[at++ & 3] += x; }
  __device__ unsigned all() const { return values[0] + 3 * values[1] + 5 * values[2] + 7 * values[3]; }
};

/// A thread's own array across barriers, indexed by data.
ODD_KERNEL(local_array) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  FourSums sums{};
  for (unsigned round = 0; round < 5; ++round) {
    own[t] = from[(i + round) % count];
    __syncthreads();
    sums.values[own[(t + round) % n] & 3] += own[(t + 1) % n];
    sums.add(round);
    __syncthreads();
  }
  to[i] = sums.all();
}

__device__ inline unsigned rotate_all(unsigned* own, unsigned t, unsigned n, unsigned by) {
  const unsigned value = own[(t + by) % n];
  __syncthreads();
  own[t] = value;
  __syncthreads();
  return value;
}
/// Barriers in a function that is called twice, once in a loop.
ODD_KERNEL(in_function) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = from[i % count];
  __syncthreads();
  unsigned sum = rotate_all(own, t, n, 1);
  for (unsigned round = 1; round < 4; ++round) sum = sum * 31 + rotate_all(own, t, n, round);
  to[i] = sum;
}

/// Indices that are sums with a sign: forwards, backwards, on both sides of an address; and one that wraps.
ODD_KERNEL(signed_sums) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  const int x = static_cast<int>(t), last = static_cast<int>(n) - 1;
  const unsigned* const middle = from + last;
  own[last - x] = middle[x - last];
  __syncthreads();
  unsigned sum = 0;
  for (int step = 0; step < 3; ++step) {
    sum = 31 * sum + middle[step - x] + own[(step + x) % (last + 1)];
    sum += from[(static_cast<unsigned>(x - step) + 0xfffffff0u) % count];
  }
  to[i] = sum;
}

/// The scan of Hillis and Steele: a value that is kept across a barrier under a condition.
ODD_KERNEL(scan) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = from[i % count];
  __syncthreads();
  for (unsigned distance = 1; distance < n; distance *= 2) {
    unsigned value = 0;
    if (t >= distance) value = own[t - distance];
    __syncthreads();
    if (t >= distance) own[t] += value;
    __syncthreads();
  }
  to[i] = own[t];
}

/// Loops in loops; the bounds of the inner one follow the outer one, and a round may end early.
ODD_KERNEL(nested_loops) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  unsigned sum = 0;
  for (unsigned a = 0; a < 4; ++a) {
    for (unsigned b = a; b < 4; ++b) {
      own[t] = from[(i * (a + 1) + b) % count] + sum;
      __syncthreads();
      sum += own[n - 1 - t] ^ (a * b);
      __syncthreads();
      if (b == 2) continue;
      sum ^= a;
    }
  }
  to[i] = sum;
}

/// A loop that is left when data that all read alike say so.
ODD_KERNEL(leave_together) {
  __shared__ unsigned own[1024];
  __shared__ unsigned stop;
  ODD_THREAD;
  unsigned round = 0;
  if (t == 0) stop = 0;
  own[t] = from[i % count];
  __syncthreads();
  while (true) {
    const unsigned value = own[(t * 7 + round) % n];
    __syncthreads();
    own[t] += value;
    if (t == round % n && own[t] % 5 == 0) stop = 1;
    ++round;
    __syncthreads();
    if (stop != 0 || round > 20) break;
  }
  to[i] = own[t] + round;
}

/// Threads end in different rounds; the others don't wait for them.
ODD_KERNEL(leave_in_rounds) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = 1;
  __syncthreads();
  for (unsigned round = 0; round < 6; ++round) {
    if (from[i % count] % 7 == round) {
      to[i] = own[t] + round;
      return;
    }
    const unsigned value = own[(t + round) % n];
    __syncthreads();
    own[t] = value + round;
    __syncthreads();
  }
  to[i] = own[t] * 2;
}

/// Different barriers for different threads.
ODD_KERNEL(switch_of_barriers) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  unsigned sum = 0;
  own[t] = t;
  __syncthreads();
  switch (from[i % count] % 3) {
    case 0:
      sum = own[(t + 1) % n];
      __syncthreads();
      sum += 5;
      break;
    case 1:
      sum = own[(t + 2) % n] * 3;
      __syncthreads();
      sum ^= 9;
      break;
    default: sum = 77; __syncthreads();
  }
  own[t] = sum;
  __syncthreads();
  to[i] = own[n - 1 - t] + sum;
}

/// Threads that don't come to the barrier in one round meet those that do in the next.
ODD_KERNEL(meet_in_different_rounds) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  unsigned sum = t;
  own[t] = t;
  __syncthreads();
  for (unsigned round = 0; round < 4; ++round) {
    if ((t + round) % 2 == 0) {
      sum ^= round;
      continue;
    }
    own[t] = sum + round;
    __syncthreads();
    sum += own[(t + 1) % n] * (round + 1);
    __syncthreads();
  }
  to[i] = sum;
}

/// A branch that all take alike, to which some come from the beginning and others from a barrier.
ODD_KERNEL(common_branch_apart) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = from[i % count];
  __syncthreads();
  unsigned sum = t;
  if (t % 3 != 0) {
    own[t] = sum;
    __syncthreads();
    sum += own[(t + 2) % n];
    __syncthreads();
  }
  if (blockIdx.x % 2 == 1) {
    to[i] = sum;
    return;
  }
  own[t] = sum;
  __syncthreads();
  sum ^= own[(t + 3) % n];
  __syncthreads();
  to[i] = sum;
}

/// Threads part, and some need a value that all have in common, the others what was merged of it.
ODD_KERNEL(common_values_apart) {
  __shared__ unsigned sums[2];
  ODD_THREAD;
  if (t == 0) sums[0] = sums[1] = 0;
  __syncthreads();
  const unsigned common = count * 3 + blockIdx.x;
  if (t % 2 == 1) {
    __syncthreads();
    to[i] = common + sums[0];
    return;
  }
  unsigned merged = common;
  if (blockIdx.x == 1) {
    atomicAdd(&sums[1], 1u);
    merged = gridDim.x;
  }
  __syncthreads();
  to[i] = merged + sums[0];
}

__attribute__((noinline)) inline void throw_odd(unsigned value) {
  if (value % 2 == 1) throw value;
}
/// What is merged behind a call that throws for some threads, with nothing but the call to part them.
ODD_KERNEL(catches) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  unsigned sum = 1;
  try {
    throw_odd(from[i % count]);
  } catch (unsigned) {
    sum = 2;
  }
  own[t] = sum;
  __syncthreads();
  to[i] = sum * 10 + own[(t + 1) % n];
}

/// A thread that aborts decides nothing; none does.
ODD_KERNEL(asserts) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = from[i % count];
  for (unsigned distance = 1; distance < n; distance *= 2) {
    if (own[t] == 0xffffffffu) __builtin_trap();
    __syncthreads();
    const unsigned value = own[(t + distance) % n];
    __syncthreads();
    own[t] = own[t] * 3 + value % 5;
    own[t] &= 0xffffu;
  }
  to[i] = own[t];
}

/// Dynamic shared memory and atomic operations.
ODD_KERNEL(dynamic_and_atomic) {
  ANYPLACE_DYNAMIC_SHARED(unsigned, own);
  ODD_THREAD;
  if (t == 0) {
    for (unsigned k = 0; k < 16; ++k) own[k] = 0;
  }
  __syncthreads();
  atomicAdd(&own[from[i % count] & 7], 1u);
  atomicMax(&own[8], t);
  __syncthreads();
  to[i] = own[t & 15];
}

/// Two values that change places in each round.
ODD_KERNEL(swapped) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  unsigned a = from[i % count], b = t;
  const unsigned rounds = from[0] % 9 + 3;
  for (unsigned round = 0; round < rounds; ++round) {
    own[t] = a;
    __syncthreads();
    const unsigned kept = a;
    a = b;
    b = kept + own[(t + 3) % n];
    __syncthreads();
  }
  to[i] = a * 2 + b;
}

/// Three dimensions; a row of threads, and all but one thread of it.
ODD_KERNEL(three_dimensions) {
  __shared__ unsigned own[1024];
  ODD_THREAD;
  own[t] = threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
  __syncthreads();
  unsigned sum = own[n - 1 - t];
  if (threadIdx.y == 1 && threadIdx.x != 2) sum += 1000;
  __syncthreads();
  own[t] = sum;
  __syncthreads();
  to[i] = own[(t + 1) % n];
}

/// Conditions on sums that wrap, of 32 and 64 bits.
ODD_KERNEL(wrapping_conditions) {
  ODD_THREAD;
  unsigned bits = 0;
  if (threadIdx.x + 0xfffffff0u < 5u) bits |= 1;
  if (static_cast<int>(threadIdx.x) - 5 < 3) bits |= 2;
  if (3u > threadIdx.x) bits |= 4;
  if (threadIdx.x != 7) bits |= 8;
  if (static_cast<long long>(threadIdx.x) + from[0] >= 20ll) bits |= 16;
  if (static_cast<unsigned long long>(threadIdx.x) + 0xfffffffffffffff0ull < 5ull) bits |= 32;
  to[i] = bits;
}

/// A guard at the front and a loop of a length that is data, without a barrier.
ODD_KERNEL(guarded_loop) {
  ODD_THREAD;
  if (i >= count) {
    to[i] = 7;
    return;
  }
  unsigned sum = 0;
  for (unsigned round = 0; round < from[i] % 13; ++round) sum = sum * 3 + from[(i + round) % count];
  to[i] = sum;
}

/// A position by reference, and a parameter by value whose elements are picked by data.
struct Table {
  unsigned values[8];
};
__device__ inline unsigned smaller(const unsigned& a, const unsigned& b) { return b < a ? b : a; }
extern "C" __global__ void table_by_value(unsigned* to, const unsigned* from, unsigned count, Table table) {
  ODD_THREAD;
  to[i] = table.values[from[i % count] & 7] + smaller(threadIdx.x, blockDim.y);
}

/// What a thread throws ends the launch.
extern "C" __global__ void throws(unsigned* to, unsigned at) {
  __syncthreads();
  if (threadIdx.x == at) throw 1;
  __syncthreads();
  to[threadIdx.x] = 1;
}

/// The same where rows of 16 threads have code of their own.
extern "C" __global__ void throws_in_rows(unsigned* to, unsigned at) {
  __shared__ unsigned own[64];
  const unsigned t = threadIdx.x + blockDim.x * threadIdx.y;
  own[t] = t;
  __syncthreads();
  if (own[(t + 1) % 64] == at) throw 1;
  to[t] = 1;
}

ANYPLACE_EXPORT_KERNELS(local_array, in_function, signed_sums, scan, nested_loops, leave_together, leave_in_rounds, switch_of_barriers,
                        meet_in_different_rounds, common_branch_apart, common_values_apart, catches, asserts,
                        dynamic_and_atomic, swapped, three_dimensions, wrapping_conditions, guarded_loop, table_by_value, throws,
                        throws_in_rows);
