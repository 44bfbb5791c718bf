// SPDX-License-Identifier: Apache-2.0
//
// Meetings: which operations of a communicator order its ranks, for layers that follow the order of work
// (anyplace_layer_meeting). Ranks of one process have a communicator each; what they have in common is the id by which
// they met, so the operations of all of them are counted alike.
#pragma once

#include <anyplace/backend/layer.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "ranks/part.h"

namespace anyplace::detail {

/// A communicator's number that all of its ranks find alike, and how many of them are in this process.
struct RanksHere {
  std::uint64_t communicator = 0;
  std::atomic<std::uint32_t> count{0};
};

/// The ranks of this process in the communicator with that id, of which the caller is one more. Called before the
/// engine makes the group, which waits for all ranks: so the count is whole when any rank has its communicator.
std::shared_ptr<RanksHere> join_ranks_here(std::span<const std::uint8_t> id);
/// The same for what a split makes of `of`: its `number`-th split, of the ranks with that color. Null if `of` is null.
std::shared_ptr<RanksHere> join_split_here(const std::shared_ptr<RanksHere>& of, std::uint32_t number, int color);

/// The meetings of one rank's operations. Thread-safe.
class Meetings {
 public:
  /// `here` is null if this process has no other rank.
  explicit Meetings(std::shared_ptr<RanksHere> here) noexcept : here_(std::move(here)) {}

  const std::shared_ptr<RanksHere>& here() const noexcept { return here_; }
  /// Those of one operation, which has these parts; it is to be submitted next. Empty if no other rank is here.
  std::vector<anyplace_layer_meeting> of(std::span<const Part> parts, int rank, int size);
  /// Counts a split of the communicator, and returns its number.
  std::uint32_t count_split() noexcept { return splits_.fetch_add(1) + 1; }

 private:
  const std::shared_ptr<RanksHere> here_;
  std::atomic<std::uint32_t> splits_{0};
  std::mutex mutex_;  // guards the two below; a leaf
  std::uint64_t collectives_ = 0;
  std::map<std::pair<int, int>, std::uint64_t> messages_;  ///< by the sender and the receiver
};

}  // namespace anyplace::detail
