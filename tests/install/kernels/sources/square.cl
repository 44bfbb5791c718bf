/* SPDX-License-Identifier: Apache-2.0 */
__kernel void square(__global uint* data, uint count) {
  const uint i = get_global_id(0);
  if (i < count) data[i] *= data[i];
}

__kernel void turn(__global uint* data, __local uint* own) {
  const uint first = get_group_id(0) * get_local_size(0);
  own[get_local_id(0)] = data[first + get_local_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[first + get_local_id(0)] = own[get_local_size(0) - 1 - get_local_id(0)];
}
