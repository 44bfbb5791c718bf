// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <chrono>

namespace anyplace_ur {

void WaitList::check() const {
  require((count == 0) == (events == nullptr), UR_RESULT_ERROR_INVALID_EVENT_WAIT_LIST,
          "the number of events to wait for and the pointer to them don't go together");
  for (std::uint32_t i = 0; i < count; ++i) {
    require(events[i] != nullptr, UR_RESULT_ERROR_INVALID_EVENT_WAIT_LIST, "an event to wait for is null");
  }
}

Submission::Submission(ur_queue_handle_t queue, ur_command_t type, const WaitList& waits, ur_event_handle_t* out,
                       After after)
    : queue_(*queue), lock_(queue->mutex), lane_(0), command_(0), out_(out) {
  waits.check();
  lane_ = choose_lane(waits);
  command_ = ++queue_.commands;
  if (out_ != nullptr) make_event(type);
  wait_for(waits, after);
  const bool timed = queue_.profiling() || type == UR_COMMAND_TIMESTAMP_RECORDING_EXP;
  if (event_ && timed) event_->start = stream().record_event({.timing = true});
}

void Submission::make_event(ur_command_t type) {
  event_ = std::make_unique<ur_event_handle_t_>(queue_.context.get(), queue_.device);
  event_->queue = Hold<ur_queue_handle_t_>(&queue_);
  event_->type = type;
  event_->lane = lane_;
  event_->command = command_;
  event_->queued_ns = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

void Submission::wait_for(const WaitList& waits, After after) {
  for (std::uint32_t i = 0; i < waits.count; ++i) {
    const ur_event_handle_t_& event = *waits.events[i];
    const bool earlier_here = event.queue.get() == &queue_ && event.lane == lane_;
    if (!earlier_here && event.end) stream().wait_event(event.end);
  }
  if (after == After::the_list || waits.count != 0) return;
  for (std::size_t lane = 0; lane < queue_.lanes.size(); ++lane) {
    if (lane != lane_) stream().wait_stream(queue_.lanes[lane].stream);
  }
}

std::size_t Submission::choose_lane(const WaitList& waits) {
  if (queue_.in_order()) return 0;
  for (std::uint32_t i = 0; i < waits.count; ++i) {
    const ur_event_handle_t_& event = *waits.events[i];
    const bool last_there = event.queue.get() == &queue_ && queue_.lanes[event.lane].last_command == event.command;
    if (last_there) return event.lane;
  }
  const std::size_t lane = queue_.next_lane;
  queue_.next_lane = (lane + 1) % queue_.lanes.size();
  return lane;
}

void Submission::end() {
  queue_.lanes[lane_].last_command = command_;
  if (!event_) return;
  event_->end = stream().record_event({.timing = static_cast<bool>(event_->start)});
  *out_ = event_.release();
}

}  // namespace anyplace_ur
