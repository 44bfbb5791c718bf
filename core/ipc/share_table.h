// SPDX-License-Identifier: Apache-2.0
//
// Share and SharedUse: who uses what a process shares. Each process that shares something has a table in memory that
// the others map (kit/shared_arena.h): for each thing that is shared, whether it still is, and which processes have it
// open.
//
// The protocol. A process that opens something sets its bit, then looks whether the thing is still shared; the process
// that shares it says that it isn't any more, then looks for bits. All four are sequentially consistent: so either the
// one is refused, or the other sees its bit and keeps the thing. The bits of a process that ended are cleared by the
// one that shares.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "anyplace/backend/kit/shared_arena.h"

namespace anyplace::detail {

class GuestTable;

/// Where a thing is in the table of the process that shares it.
struct ShareAddress {
  backend::ArenaAddress table;
  std::uint32_t entry = 0;
  std::uint64_t generation = 0;
};

/// One thing that this process shares, for as long as it lives. Any thread may use it, one at a time.
class Share {
 public:
  /// Throws backend_failed and out_of_memory if there is no table, or no room in it.
  Share(const std::string& place, const char* operation);
  Share(const Share&) = delete;  // it gives its entry back once
  Share& operator=(const Share&) = delete;
  ~Share();  ///< nobody has it open

  ShareAddress address() const noexcept;

  /// From now on nobody can open it. Whether no living process has it open, which is then so for good. Idempotent.
  bool close() noexcept;

 private:
  std::uint32_t entry_ = 0;
};

/// Keeps what another process shares.
class SharedUse {
 public:
  SharedUse() noexcept = default;
  /// Throws peer_gone if that process has ended; invalid_handle, whose text begins with `what`, if the thing was freed;
  /// and out_of_memory.
  SharedUse(const ShareAddress& address, const char* what, const std::string& place, const char* operation);
  SharedUse(SharedUse&& other) noexcept;
  SharedUse& operator=(SharedUse&& other) noexcept;
  SharedUse(const SharedUse&) = delete;  // counted once
  SharedUse& operator=(const SharedUse&) = delete;
  ~SharedUse();

 private:
  std::shared_ptr<GuestTable> table_;
  std::uint32_t entry_ = 0;
};

}  // namespace anyplace::detail
