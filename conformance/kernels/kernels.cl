/* SPDX-License-Identifier: Apache-2.0
 *
 * The test kernels (README.md) in OpenCL C: a module of format opencl_c.
 */
__kernel void fill(__global uint *data, uint count, uint value) {
  const size_t i = get_global_id(0);
  if (i < count) data[i] = value;
}

__kernel void axpy(__global float *y, __global const float *x, float a, uint count) {
  const size_t i = get_global_id(0);
  if (i < count) y[i] += a * x[i];
}

__kernel void indices(__global uint *out) {
  const size_t i =
      (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  for (uint d = 0; d < 3; ++d) {
    out[12 * i + d] = (uint)get_group_id(d);
    out[12 * i + 3 + d] = (uint)get_local_id(d);
    out[12 * i + 6 + d] = (uint)get_num_groups(d);
    out[12 * i + 9 + d] = (uint)get_local_size(d);
  }
}

__kernel void block_sum(__global uint *sums, __global const uint *values, __local uint *shared) {
  const uint t = (uint)get_local_id(0);
  const uint threads = (uint)get_local_size(0);
  shared[t] = values[get_group_id(0) * threads + t];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) {
    uint sum = 0;
    for (uint i = 0; i < threads; ++i) sum += shared[i];
    sums[get_group_id(0)] = sum;
  }
}

__kernel void arguments(__global ulong *out, uchar a, ushort b, uint c, ulong d, float e, int f) {
  if (get_global_id(0) + get_global_id(1) + get_global_id(2) != 0) return;
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
  out[4] = as_uint(e);
  out[5] = (ulong)(long)f;
}

__constant uint first_numbers[4] = {2, 3, 5, 7};

uint scaled(uint value, uint by) { return value * 1000 + by; }

__kernel void look_up(__global uint *out, uint count) {
  const size_t i = get_global_id(0);
  if (i < count) out[i] = scaled(first_numbers[i % 4], (uint)i);
}
