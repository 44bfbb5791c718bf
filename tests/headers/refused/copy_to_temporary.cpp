// SPDX-License-Identifier: Apache-2.0
// A vector that is gone before the copy writes to it.
#include <anyplace/anyplace.h>

#include <vector>

void copy_to_temporary(const anyplace::Stream& stream, const anyplace::Buffer& buffer) {
  stream.copy(std::vector<float>(16), buffer);
}
