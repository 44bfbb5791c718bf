// SPDX-License-Identifier: Apache-2.0
// A fraction where a size is whole.
#include <anyplace/anyplace.h>

anyplace::LaunchConfig wide_dim(double blocks) { return {.grid = blocks, .block = 256}; }
