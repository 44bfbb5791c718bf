// SPDX-License-Identifier: Apache-2.0
// A value for a buffer whose elements are of no type.
#include <anyplace/anyplace.h>

void fill_of_bytes(const anyplace::Stream& stream, const anyplace::Buffer& buffer) { stream.fill(buffer, 1.0f); }
