// SPDX-License-Identifier: Apache-2.0
// A callable that doesn't take the block.
#include <anyplace/anyplace.h>

anyplace::Kernel without_block(const anyplace::Device& device) {
  return anyplace::Kernel(device, [](float* data) { *data = 0; });
}
