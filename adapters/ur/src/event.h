// SPDX-License-Identifier: Apache-2.0
//
// An event: the end of one command. It holds what the command used, so that the application may release that at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <anyplace/event.h>

#include "context.h"
#include "handle.h"
#include "queue.h"

struct ur_event_handle_t_ : anyplace_ur::HandleBase {
  ur_event_handle_t_(ur_context_handle_t owner, ur_device_handle_t on) : context(owner), device(on) {}

  bool is_complete() const;
  /// Returns when the command is done. Throws the fault of a stream of its queue, which stays.
  void wait() const;

  const anyplace_ur::Hold<ur_context_handle_t_> context;
  const ur_device_handle_t device;
  anyplace_ur::Hold<ur_queue_handle_t_> queue;  ///< null for one that the application made
  ur_command_t type = UR_COMMAND_EVENTS_WAIT;
  anyplace::Event end;
  anyplace::Event start;        ///< null unless the command is profiled
  std::uint64_t queued_ns = 0;  ///< when the command was given to the adapter, on the host's clock
  /// The same on the device's clock, from the first time that it is asked for on; 0 before.
  std::atomic<std::uint64_t> queued_on_device_ns{0};
  std::size_t lane = 0;       ///< of its queue
  std::uint64_t command = 0;  ///< its number in its queue
};
