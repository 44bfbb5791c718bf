// SPDX-License-Identifier: Apache-2.0
#include "shared_event.h"

#include <chrono>
#include <utility>

#include "device.h"
#include "stream.h"

namespace anyplace::levelzero {
namespace {

using backend::EventArena;
using State = EventArena::State;

/// A stream that waits for another process's record. It ends itself when it is woken.
class Waiting final : public EventArena::Sleeper {
 public:
  Waiting(std::shared_ptr<EventArena> arena, Waiter& helper, Waiter::JobRef job, backend::Host host,
          std::uint64_t cookie) noexcept
      : arena_(std::move(arena)), helper_(helper), job_(std::move(job)), host_(host), cookie_(cookie) {}

 private:
  /// Runs on the arena's thread, which must not call Level Zero because it isn't ended at exit. The helper, which is
  /// ended, signals instead.
  void wake(State state) noexcept override {
    if (state == State::gone) host_.stream_fault(cookie_, ANYPLACE_STATUS_PEER_GONE, SharedEvent::gone_text);
    helper_.add(std::move(job_));
    delete this;
  }

  const std::shared_ptr<EventArena> arena_;
  Waiter& helper_;
  Waiter::JobRef job_;
  const backend::Host host_;
  const std::uint64_t cookie_;
};

}  // namespace

SharedRecord submit_shared_record(SharedEvent& event, Stream& stream, SignalRef& done) {
  return event.record(stream.cookie(), [&](const std::shared_ptr<EventArena::Counter>& counter, std::uint64_t target) {
    done = stream.marker();
    if (!done || done->is_complete()) return counter->reach(target);
    // At exit, steps that the helper has not come to are called as on a lost device: it is asked once more then.
    Waiter::Step step = [counter, target, before = done](anyplace_status status) {
      const bool good = status == ANYPLACE_STATUS_OK || before->is_complete_for_sure();
      good ? counter->reach(target) : counter->abandon();
    };
    Submission(stream).append_host_step(stream.device().helper(), std::move(step));
    done = stream.marker();
  });
}

bool synchronize_shared(const SharedEvent& event, const SharedRecord& record, const backend::Deadline& deadline) {
  constexpr std::chrono::nanoseconds longest = std::chrono::seconds(1);
  return event.synchronize(record, [&] { return static_cast<std::int64_t>(deadline.left(longest).count()); });
}

void submit_shared_wait(const SharedEvent& event, const SharedRecord& record, Stream& stream) {
  const std::shared_ptr<EventArena>& arena = event.arena();
  if (arena->look(record) == State::done) return;
  Device& device = stream.device();
  const SignalRef here = device.signals().take();
  auto waiting =
      std::make_unique<Waiting>(arena, device.helper(), device.helper().make_job({}, here, nullptr, stream.cookie()),
                                device.host(), stream.cookie());
  stream.wait_for_host(here, [&] {
    arena->wake_when_over(record, *waiting);
    static_cast<void>(waiting.release());  // it may have ended already
  });
}

}  // namespace anyplace::levelzero
