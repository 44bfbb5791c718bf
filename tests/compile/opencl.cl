// SPDX-License-Identifier: Apache-2.0
// Kernels in OpenCL C, for spirv_on_host_test.cpp: what each makes is there.
typedef struct {
  float a;
  int b;
  long c;
} Three;

// `out` is 16 words, of which the last is free, for each work item.
kernel void places(global uint* out) {
  global uint* mine = out + 16 * (get_global_id(0) + get_global_size(0) * get_global_id(1));
  mine[0] = get_work_dim();
  for (uint i = 0; i < 2; ++i) {
    mine[1 + i] = get_global_id(i);
    mine[3 + i] = get_local_id(i);
    mine[5 + i] = get_group_id(i);
    mine[7 + i] = get_local_size(i);
    mine[9 + i] = get_num_groups(i);
    mine[11 + i] = get_global_size(i);
  }
  mine[13] = get_global_offset(0);
  mine[14] = get_global_id(3);
}

kernel void reversed(global int* data, local int* own) {
  local int factor;
  if (get_local_id(0) == 0) factor = 3;
  own[get_local_id(0)] = data[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[get_global_id(0)] = factor * own[get_local_size(0) - 1 - get_local_id(0)];
}

kernel void arguments(global long* out, uchar a, short b, uint c, ulong d, float e, double f, Three g, float4 h,
                      constant int* i) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = (long)d;
  out[4] = (long)(e * 4);
  out[5] = (long)(f * 4);
  out[6] = (long)(g.a * 4) + g.b + g.c;
  out[7] = (long)(h.x + 10 * h.y + 100 * h.z + 1000 * h.w);
  out[8] = i[1];
}

kernel void atomics(global int* all, global long* sums) {
  atomic_add(all, 2);
  atomic_sub(all + 1, 1);
  atomic_inc(all + 2);
  atomic_dec(all + 3);
  atomic_max(all + 4, (int)get_global_id(0));
  atomic_min(all + 5, -(int)get_global_id(0));
  atomic_or(all + 6, 1 << get_local_id(0));
  atomic_xor(all + 7, 1);
  atomic_and(all + 8, ~(1 << get_local_id(0)));
  for (int seen = all[9];;) {
    const int was = atomic_cmpxchg(all + 9, seen, seen + 3);
    if (was == seen) break;
    seen = was;
  }
  atom_add(sums, 1L << 33);
}

kernel void functions(global float* f, global int* n) {
  f[0] = clamp(f[0], 0.0f, 1.0f);
  f[1] = mad(f[1], 2.0f, 1.0f);
  f[2] = native_sqrt(f[2]) + rsqrt(f[2]);
  f[3] = pown(f[3], 3) + rootn(8.0f, 3);
  int exponent;
  f[4] = frexp(f[4], &exponent) + exponent;
  float whole;
  f[5] = modf(f[5], &whole) + 10 * whole;
  f[6] = mix(f[6], 3.0f, 0.5f) + step(1.0f, f[6]) + smoothstep(0.0f, 2.0f, 1.0f);
  f[7] = sign(-f[7]) + fmax(f[7], 9.0f) + degrees(0.0f) + sinpi(0.5f) + maxmag(-3.0f, 2.0f);
  n[0] = mul_hi(1 << 30, 12) + hadd(4, 7) + rotate(1, 33) + popcount(255) + clz(1);
  n[1] = add_sat(INT_MAX, 7) - INT_MAX + mad24(3, 4, 5) + (int)abs_diff(-5, 5) + upsample((short)1, (ushort)2);
  n[2] = convert_int_rte(2.5f) + 10 * convert_int_rtp(2.1f) + 100 * convert_int_rtn(-2.1f) + 1000 * convert_int(2.9f);
  n[3] = convert_uchar_sat(300.0f) + convert_char_sat(-300) + convert_int_sat(1e20f) / 2;
  n[4] = isnan(nan(0u)) + 10 * isfinite(1.0f) + 100 * signbit(-1.0f) + 1000 * (as_int(1.0f) == 0x3f800000);
}

kernel void vectors(global float* f, global int* n) {
  const float4 a = vload4(0, f);
  const float4 b = vload4(1, f);
  const float3 c = vload3(1, f);
  vstore4(fma(a, b, clamp(a, 1.0f, 2.0f)), 2, f);
  f[12] = dot(a, b);
  f[13] = length((float2)(3, 4)) + distance(a, a) + cross(a, b).x + normalize((float2)(3, 4)).y;
  f[14] = c.x + 10 * c.y + 100 * c.z;
  f[15] = shuffle(a, (uint4)(3, 2, 1, 0)).x + shuffle2(a, b, (uint4)(7, 2, 1, 0)).x;
  f[16] = select(a, b, (int4)(0, -1, 0, -1)).y;
  const int4 from = convert_int4_rte(a * 1.5f);
  vstore4(from, 0, n);
  vstore4(convert_int4(convert_uchar4_sat(from * 100)), 1, n);
  n[8] = any(a < b) + 10 * all(a < b) + 100 * any(isnan(a)) + 1000 * all(isequal(a, a));
}

kernel void copies(global int* to, global const int* from, local int* own) {
  event_t arrived = async_work_group_copy(own, from + 8 * get_group_id(0), 8, 0);
  wait_group_events(1, &arrived);
  own[get_local_id(0)] *= 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t gone = async_work_group_strided_copy(to + get_group_id(0), own, 8, 2, 0);
  wait_group_events(1, &gone);
}

kernel void prints(int number) {
  if (get_global_id(0) == 0) printf("printed %d\n", number);
}
