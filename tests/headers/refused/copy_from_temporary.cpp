// SPDX-License-Identifier: Apache-2.0
// A vector that is gone before the copy has read it.
#include <anyplace/anyplace.h>

#include <vector>

void copy_from_temporary(const anyplace::Stream& stream, const anyplace::Buffer& buffer) {
  stream.copy(buffer, std::vector<float>(16));
}
