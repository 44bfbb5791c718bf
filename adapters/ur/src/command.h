// SPDX-License-Identifier: Apache-2.0
//
// Commands: what all entries urEnqueue... have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "event.h"
#include "queue.h"

namespace anyplace_ur {

/// The events that a command waits for, as the entries get them.
struct WaitList {
  std::uint32_t count = 0;
  const ur_event_handle_t* events = nullptr;

  /// Throws if number and pointer don't go together, or one is null.
  void check() const;
};

/// What a command waits for besides its list.
enum class After { the_list, everything_before /*if the list is empty*/ };

/// Where a command went: its stream, and its event if one is wanted. The queue is locked while it lives.
class Submission {
 public:
  /// Chooses a stream and lets it wait for the events. `out` may be null: then no event is made.
  Submission(ur_queue_handle_t queue, ur_command_t type, const WaitList& waits, ur_event_handle_t* out,
             After after = After::the_list);
  Submission(const Submission&) = delete;  // one end of a command
  Submission& operator=(const Submission&) = delete;

  anyplace::StreamView stream() const noexcept { return queue_.lanes[lane_].stream; }
  std::size_t lane() const noexcept { return lane_; }
  /// Marks the end of the command, and gives the event out.
  void end();

 private:
  std::size_t choose_lane(const WaitList& waits);
  void make_event(ur_command_t type);
  void wait_for(const WaitList& waits, After after);

  ur_queue_handle_t_& queue_;
  std::unique_lock<std::mutex> lock_;
  std::size_t lane_;
  std::uint64_t command_;
  std::unique_ptr<ur_event_handle_t_> event_;
  ur_event_handle_t* out_;
};

/// Submits `work(StreamView)` as one command.
template <class Work>
void submit(ur_queue_handle_t queue, ur_command_t type, const WaitList& waits, ur_event_handle_t* out, Work&& work) {
  Submission submission(queue, type, waits, out);
  work(submission.stream());
  submission.end();
}

/// The same, and waits for it if `blocking`.
template <class Work>
void submit(ur_queue_handle_t queue, ur_command_t type, bool blocking, const WaitList& waits, ur_event_handle_t* out,
            Work&& work) {
  if (!blocking) return submit(queue, type, waits, out, std::forward<Work>(work));
  ur_event_handle_t event = nullptr;
  submit(queue, type, waits, &event, std::forward<Work>(work));
  const std::unique_ptr<ur_event_handle_t_, void (*)(ur_event_handle_t)> owner(event,
                                                                               [](auto* one) { release_handle(one); });
  event->wait();
  if (out != nullptr) {
    event->retain();
    *out = event;
  }
}

}  // namespace anyplace_ur
