// SPDX-License-Identifier: Apache-2.0
//
// Buffers and pinned memory that their owner let go of while a capture is under way whose nodes name them, or which one
// of their streams is in. They stay until the capture has ended, when the graph takes what it uses (graph_pool.h) and
// the rest is freed.
#pragma once

#include <memory>

#include "memory/memory_state.h"

namespace anyplace::detail {

/// Keeps the buffer until a capture that uses it has ended. False, and it stays the caller's, if there is none. Any
/// capture may use it, as copies between devices and copies of pinned memory do.
bool keep_for_capture(std::unique_ptr<BufferState>& buffer) noexcept;

/// Disposes of a list of such buffers.
void dispose_list(BufferState* list) noexcept;

}  // namespace anyplace::detail
