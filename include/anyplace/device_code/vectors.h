// SPDX-License-Identifier: Apache-2.0
//
// dim3 and the vector types of two to four elements, where no vendor's header has them. Names, members and alignment
// are those of the CUDA C++ Programming Guide (section "Built-in Vector Types"), so that a struct of them has one
// layout. As in CUDA, there is no arithmetic on them.
#pragma once

#define ANYPLACE_VECTOR_TYPES(name, type, align2, align4)                        \
  struct alignas(align2) name##2 {                                               \
    type x, y;                                                                   \
  };                                                                             \
  struct name##3 {                                                               \
    type x, y, z;                                                                \
  };                                                                             \
  struct alignas(align4) name##4 {                                               \
    type x, y, z, w;                                                             \
  };                                                                             \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

ANYPLACE_VECTOR_TYPES(char, signed char, 2, 4)
ANYPLACE_VECTOR_TYPES(uchar, unsigned char, 2, 4)
ANYPLACE_VECTOR_TYPES(short, short, 4, 8)
ANYPLACE_VECTOR_TYPES(ushort, unsigned short, 4, 8)
ANYPLACE_VECTOR_TYPES(int, int, 8, 16)
ANYPLACE_VECTOR_TYPES(uint, unsigned int, 8, 16)
ANYPLACE_VECTOR_TYPES(longlong, long long, 16, 16)
ANYPLACE_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
ANYPLACE_VECTOR_TYPES(float, float, 8, 16)
ANYPLACE_VECTOR_TYPES(double, double, 16, 16)
#undef ANYPLACE_VECTOR_TYPES

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int in_x = 1, unsigned int in_y = 1, unsigned int in_z = 1) : x(in_x), y(in_y), z(in_z) {}
  constexpr dim3(uint3 from) : x(from.x), y(from.y), z(from.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
