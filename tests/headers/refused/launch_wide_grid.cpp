// SPDX-License-Identifier: Apache-2.0
// A number of blocks that might not fit.
#include <anyplace/anyplace.h>

void launch_wide_grid(const anyplace::Stream& stream, anyplace::KernelView kernel, std::uint64_t blocks) {
  stream.launch(kernel, {blocks, 64}, 1u);
}
