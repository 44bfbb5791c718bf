// SPDX-License-Identifier: Apache-2.0
// Grid, block and shared memory as arguments of their own: without the last, an argument would be taken for it.
#include <anyplace/anyplace.h>

void launch_positional(const anyplace::Stream& stream, anyplace::KernelView kernel) {
  stream.launch(kernel, anyplace::Dim3{4}, anyplace::Dim3{64}, 0, 1u);
}
