// SPDX-License-Identifier: Apache-2.0
// A fill of bits with a number that has a fraction: its bits would be those of the integer 1.
#include <anyplace/anyplace.h>

void memset_of_float(const anyplace::Stream& stream, const anyplace::Buffer& buffer) { stream.memset32(buffer, 1.0f); }
