// SPDX-License-Identifier: Apache-2.0
// HostBlock: a piece of pinned memory of a HostPool, kept or handed out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/backend.h"

namespace anyplace::detail {

struct BufferState;

/// It exists from when the device gives the memory until the device gets it back.
struct HostBlock {
  anyplace_address address = 0;
  std::uint64_t bytes = 0;      ///< allocated from the device
  std::uint64_t requested = 0;  ///< by the HostBuffer
  /// `requested` while a HostBuffer has it, otherwise 0; read without the pool's lock.
  std::atomic<std::uint64_t> handed_out{0};
  DeviceState& device;
  std::uint32_t holds = 0;  ///< graphs that use it; guarded by the pool's mutex
  bool let_go = false;      ///< its HostBuffer was destroyed while there were holds; guarded by the pool's mutex
  std::size_t size_class = SIZE_MAX;  ///< the class in which it is kept; HostPool::no_class if it isn't kept
  std::unique_ptr<HostBlock> next;
  /// Keeps the streams that use it, and is its entry in the deferred frees; made early, so that freeing can't fail.
  std::unique_ptr<BufferState> later;

  explicit HostBlock(DeviceState& of);
  HostBlock(const HostBlock&) = delete;  // it owns memory
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock();
};

}  // namespace anyplace::detail
