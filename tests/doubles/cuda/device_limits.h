// SPDX-License-Identifier: Apache-2.0
//
// The limits of the double's devices, in one place for what reports and what enforces them.
#pragma once

namespace anyplace::doubles::cuda {

constexpr int max_threads_per_block = 1024;
constexpr int max_block[3] = {1024, 1024, 64};
constexpr int max_grid[3] = {2147483647, 65535, 65535};
constexpr int max_shared = 48 * 1024;
constexpr int max_shared_opt_in = 227 * 1024;

}  // namespace anyplace::doubles::cuda
