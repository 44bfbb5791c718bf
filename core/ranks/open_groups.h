// SPDX-License-Identifier: Apache-2.0
//
// OpenGroup has the operations that a thread has called between group_start and group_end of a communicator. It belongs
// to that thread alone, and ends with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ranks/part.h"

namespace anyplace::detail {

struct CommunicatorState;

struct OpenGroup {
  std::weak_ptr<CommunicatorState> of;
  std::vector<std::size_t> starts;  ///< for each group_start that has no group_end yet, how many parts there were
  std::vector<Part> parts;
  std::uint64_t stream_id = 0;  ///< the stream of all parts
};

/// The calling thread's group of the communicator; null if it has none open. Valid until the next of these calls.
OpenGroup* find_open_group(const std::shared_ptr<CommunicatorState>& state) noexcept;
/// Returns the calling thread's group of the communicator, and opens one if there is none.
OpenGroup& open_group(const std::shared_ptr<CommunicatorState>& state);
/// Removes the group from the thread's groups and returns it.
OpenGroup close_group(OpenGroup* group) noexcept;

}  // namespace anyplace::detail
