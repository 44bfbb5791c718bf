// SPDX-License-Identifier: Apache-2.0
// HostBlock: pinned memory that a HostPool has or gave out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/backend.h"

namespace anyplace::detail {

struct BufferState;

/// One piece of pinned memory, from when the device gives it until it gets it back.
struct HostBlock {
  anyplace_address address = 0;
  std::uint64_t bytes = 0;                   ///< what the device was asked for
  std::uint64_t requested = 0;               ///< by the HostBuffer
  std::atomic<std::uint64_t> handed_out{0};  ///< `requested` while a HostBuffer has it; read with no lock of the pool's
  DeviceState& device;
  std::uint32_t holds = 0;            ///< graphs that use it; guarded by the pool's mutex, as `let_go` is
  bool let_go = false;                ///< its HostBuffer has gone while there were holds
  std::size_t size_class = SIZE_MAX;  ///< where it is kept; HostPool::no_class: nowhere
  std::unique_ptr<HostBlock> next;
  std::unique_ptr<BufferState> later;  ///< has its uses, and goes among the deferred frees, where nothing may fail

  explicit HostBlock(DeviceState& of);
  HostBlock(const HostBlock&) = delete;  // it owns memory
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock();
};

}  // namespace anyplace::detail
