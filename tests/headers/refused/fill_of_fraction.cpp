// SPDX-License-Identifier: Apache-2.0
// A fraction for elements that are whole numbers.
#include <anyplace/anyplace.h>

void fill_of_fraction(const anyplace::Stream& stream, const anyplace::Buffer& buffer) {
  stream.fill(buffer.as<int>(), 1.5);
}
