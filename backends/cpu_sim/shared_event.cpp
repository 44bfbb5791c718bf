// SPDX-License-Identifier: Apache-2.0
#include "shared_event.h"

#include <memory>
#include <utility>

#include "clock.h"
#include "command.h"
#include "director.h"
#include "operation.h"
#include "spin_lock.h"
#include "stream.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

using backend::EventArena;
using State = EventArena::State;
using CounterRef = std::shared_ptr<EventArena::Counter>;

constexpr std::int64_t shared_spin_ns = 20'000;  // A host that waits polls so long, as in help.cpp.

/// Raises the stream's counter when the stream comes to it.
class ReachTarget final : public Command {
 public:
  ReachTarget(CounterRef counter, std::uint64_t target) noexcept : counter_(std::move(counter)), target_(target) {}

  Progress execute(Stream&) noexcept override {
    counter_->reach(target_);
    return Progress::done;
  }
  void describe(Operation& out) const override { out.be_silent("record for other processes"); }

 private:
  CounterRef counter_;
  std::uint64_t target_;
};

/// Parks the stream until a record is complete, whichever process made it.
class WaitShared final : public Command, private EventArena::Sleeper {
 public:
  WaitShared(std::shared_ptr<EventArena> arena, const SharedRecord& record, Stream& stream, backend::Host host,
             std::uint64_t cookie) noexcept
      : arena_(std::move(arena)), record_(record), stream_(stream), host_(host), cookie_(cookie) {}

  Progress execute(Stream&) noexcept override {
    State seen = arena_->look(record_);
    if (seen == State::pending) {
      try {
        // The arena's thread may complete this command, and end it, before the call returns: the arena is kept here.
        const std::shared_ptr<EventArena> arena = arena_;
        arena->wake_when_over(record_, *this);
        return Progress::elsewhere;
      } catch (const std::exception&) {  // There is no thread or no memory for it, so this thread waits itself.
        seen = arena_->wait(record_, [] { return INT64_MAX; });
      }
    }
    report(seen);
    return Progress::done;
  }
  void describe(Operation& out) const override {
    out.be_silent("wait for another process");
    out.waits_for_process = true;
  }

 private:
  void wake(State state) noexcept override {
    report(state);
    stream_.finish_elsewhere();
  }
  void report(State state) noexcept {
    if (state == State::gone) host_.stream_fault(cookie_, ANYPLACE_STATUS_PEER_GONE, SharedEvent::gone_text);
  }

  std::shared_ptr<EventArena> arena_;
  SharedRecord record_;
  Stream& stream_;  // The command is in its queue.
  backend::Host host_;
  std::uint64_t cookie_;
};

/// Polls for a while, until the record isn't pending any more.
void poll(const EventArena& arena, const SharedRecord& record) noexcept {
  const std::int64_t began = now_ns();
  for (std::int64_t now = began; now < began + shared_spin_ns; now = now_ns()) {
    for (int i = 0; i < 16; ++i) pause_briefly();
    if (arena.look(record) != State::pending) return;
    give_up_core(now - began);
  }
}

}  // namespace

SharedRecord submit_shared_record(SharedEvent& event, Stream& stream, Record& local) {
  // A stream's memory is never freed, so its address is a number for its counter (stream_pool.h).
  return event.record(backend::to_handle(&stream), [&](const CounterRef& counter, std::uint64_t target) {
    std::uint64_t number = stream.mark();
    if (stream.timeline().reached(number)) {
      counter->reach(target);  // Nothing is pending, so no thread has to be woken for it.
    } else {
      number = stream.submit<ReachTarget>(counter, target);
    }
    local = {&stream.timeline(), number};
  });
}

bool synchronize_shared(const SharedEvent& event, const SharedRecord& record, std::uint64_t timeout_ns, bool spins) {
  const Deadline deadline = Deadline::after(timeout_ns);
  Director* const director = deadline.poll() ? nullptr : Director::get();
  const bool had_turn =
      director != nullptr && director->leave_turn("a call waits for an event of another process, in real time");
  if (spins && !deadline.poll() && event.arena()->look(record) == State::pending) poll(*event.arena(), record);
  const bool done = event.synchronize(record, [&] { return deadline.left_ns(); });
  if (had_turn) director->take_turn_again();
  return done;
}

void submit_shared_wait(const SharedEvent& event, const SharedRecord& record, Stream& stream, backend::Host host,
                        std::uint64_t cookie) {
  if (event.arena()->look(record) == State::done) {
    stream.mark();
  } else {
    stream.submit<WaitShared>(std::shared_ptr<EventArena>(event.arena()), record, stream, host, cookie);
  }
}

}  // namespace anyplace::cpu_sim
