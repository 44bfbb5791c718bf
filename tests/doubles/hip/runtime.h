// SPDX-License-Identifier: Apache-2.0
//
// What the files of the double share beside the runtime (../engine/runtime): the devices' limits, and streams that are
// named by numbers.
#pragma once

#include "../engine/runtime/calls.h"
#include "config.h"
#include "entries.h"

namespace anyplace::doubles::hip {

constexpr int max_threads_per_block = 1024;
constexpr int max_block[3] = {1024, 1024, 1024};
constexpr int max_grid[3] = {2147483647, 65536, 65536};
constexpr int max_shared = 64 * 1024;

/// Of Block::flags: memory that a stream can wait on.
constexpr uint32_t signal_memory = uint32_t{1} << 30U;
constexpr uint64_t signal_bytes = 8;

const auto legacy_stream = reinterpret_cast<hipStream_t>(1);
const auto per_thread_stream = reinterpret_cast<hipStream_t>(2);

int check_shape(const KernelShape& shape);
/// What a kind of copy says that the ends are. False: there is no such kind.
bool ends_of(int kind, Want& destination, Want& source);

const char* error_name(hipError_t error);
const char* error_text(hipError_t error);

}  // namespace anyplace::doubles::hip
