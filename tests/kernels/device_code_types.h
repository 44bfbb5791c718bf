// SPDX-License-Identifier: Apache-2.0
// What device_code.cu and the test that launches it agree on; laid out alike everywhere.
#pragma once

#include <stdint.h>

#if !defined(ANYPLACE_DEVICE_CODE_H)  // the host's side of the test
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(4) uchar4 {
  unsigned char x, y, z, w;
};
#endif

struct AtomicResults {
  int add_int;
  unsigned add_unsigned;
  unsigned long long add_long;
  double add_double;
  float add_float;
  int sub_int;
  unsigned sub_unsigned;
  int min_int, max_int;
  unsigned min_unsigned, max_unsigned;
  unsigned long long min_long, max_long;
  unsigned and_unsigned, or_unsigned, xor_unsigned;
  unsigned inc, dec;
  unsigned slot;
  unsigned long long exchanged;
  int cas;
};

struct FunctionResults {
  int popc, clz, ffs;
  unsigned brev, umulhi, bits;
  int mul24, rounded[4];
  int clamped;
  unsigned unsigned_wins;
  float roots;
  unsigned primes;
  float4 vector;
  uchar4 pixel;
  unsigned sizes[6];
};

struct Parameter {
  uint8_t small;
  double large;
  uint16_t several[3];
};

struct ParameterResults {
  uint8_t a;
  int16_t b;
  float c;
  unsigned long long d;
  Parameter e;
  const unsigned* f;
};
