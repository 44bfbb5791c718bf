// SPDX-License-Identifier: Apache-2.0
//
// Share and SharedUse: count the users of objects that a process shares. Each process that shares something has a table
// in memory that the others map (kit/shared_arena.h). It says for each object whether it is still shared, and which
// processes have it open.
//
// The protocol. A process that opens an object sets its bit, then looks whether the object is still shared. The process
// that shares it marks it as not shared, then looks for bits. All four accesses are sequentially consistent, so either
// the first process is refused, or the second one sees its bit and keeps the object. The sharing process clears the
// bits of processes that ended.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "anyplace/backend/kit/shared_arena.h"

namespace anyplace::detail {

class GuestTable;

/// The place of an object in the table of the process that shares it.
struct ShareAddress {
  backend::ArenaAddress table;
  std::uint32_t entry = 0;
  std::uint64_t generation = 0;
};

/// An object that this process shares, for as long as the Share lives. Any thread may use a Share, one at a time.
class Share {
 public:
  /// Throws backend_failed and out_of_memory if there is no table, or no room in it.
  Share(const std::string& place, const char* operation);
  Share(const Share&) = delete;  // it gives its entry back once
  Share& operator=(const Share&) = delete;
  ~Share();  ///< gives the entry back; nobody has the object open

  ShareAddress address() const noexcept;

  /// Stops sharing: from now on nobody can open the object. Returns whether no living process has it open, which then
  /// stays so. Idempotent.
  bool close() noexcept;

 private:
  std::uint32_t entry_ = 0;
};

/// Keeps an object that another process shares open.
class SharedUse {
 public:
  SharedUse() noexcept = default;
  /// Throws peer_gone if that process has ended; invalid_handle, whose text begins with `what`, if the object was
  /// freed; and out_of_memory.
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
