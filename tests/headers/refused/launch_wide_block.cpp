// SPDX-License-Identifier: Apache-2.0
// A number of threads that might not fit.
#include <anyplace/anyplace.h>

void launch_wide_block(const anyplace::Stream& stream, anyplace::KernelView kernel, std::size_t threads) {
  stream.launch(kernel, {4, {16, threads}}, 1u);
}
