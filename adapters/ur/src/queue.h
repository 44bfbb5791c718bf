// SPDX-License-Identifier: Apache-2.0
//
// A queue: one stream if it is in order, several if it is out of order. What runs when is decided by the events that
// commands wait for; a command that waits for the last one of a stream goes to that stream.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <anyplace/stream.h>

#include "context.h"
#include "handle.h"

struct ur_queue_handle_t_ : anyplace_ur::HandleBase {
  ur_queue_handle_t_(ur_context_handle_t context, ur_device_handle_t device, ur_queue_flags_t flags);
  /// Takes a stream of the vendor's.
  ur_queue_handle_t_(ur_context_handle_t context, ur_device_handle_t device, ur_queue_flags_t flags,
                     anyplace::Stream stream);

  bool in_order() const noexcept { return lanes.size() == 1; }
  bool profiling() const noexcept { return (flags & UR_QUEUE_FLAG_PROFILING_ENABLE) != 0; }
  /// Returns when all commands are done. Throws the first fault of a stream.
  void finish();
  bool is_empty();

  const anyplace_ur::Hold<ur_context_handle_t_> context;
  const ur_device_handle_t device;
  const ur_queue_flags_t flags;

  /// A stream with the number of the last command that went to it.
  struct Lane {
    anyplace::Stream stream;
    std::uint64_t last_command = 0;
  };
  std::mutex mutex;  ///< held while a command is submitted
  std::vector<Lane> lanes;
  std::uint64_t commands = 0;  ///< numbers given out
  std::size_t next_lane = 0;
};
