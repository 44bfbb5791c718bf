// SPDX-License-Identifier: Apache-2.0
//
// Buffers and pinned memory that were freed during a capture whose nodes name them, or which one of their streams is
// in. They are kept until the capture has ended; then the graph takes those that it uses (graph_pool.h), and the others
// are freed.
#pragma once

#include <memory>

#include "memory/memory_state.h"

namespace anyplace::detail {

/// Keeps the buffer until the capture that uses it has ended. Returns false, and leaves the buffer with the caller, if
/// no capture uses it. It may be any capture: copies between devices and copies of pinned memory (BufferState::host)
/// can be in each.
bool keep_for_capture(std::unique_ptr<BufferState>& buffer) noexcept;

/// Frees a list of such buffers.
void dispose_list(BufferState* list) noexcept;

}  // namespace anyplace::detail
