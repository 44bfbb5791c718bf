// SPDX-License-Identifier: Apache-2.0
// A callable whose parameters have no types.
#include <anyplace/anyplace.h>

anyplace::Kernel generic_lambda(const anyplace::Device& device) {
  return anyplace::Kernel(device, [](const anyplace::Block& block, auto* data) { data[block.index().x] = 0; });
}
