// SPDX-License-Identifier: Apache-2.0
#include "shared_event.h"

#include <cstring>
#include <utility>

#include "command.h"
#include "failure.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

using State = EventArena::State;

constexpr const char* gone_text = "the process that recorded the event has ended before what it recorded was complete";

/// What crosses to the other process.
struct EventBytes {
  std::uint64_t start;
  std::uint64_t nonce;
  std::uint32_t pid;
  std::uint32_t descriptor;
  std::uint32_t number;
};

/// Raises the stream's counter when the stream comes to it.
class ReachTarget final : public Command {
 public:
  ReachTarget(std::shared_ptr<EventArena> arena, const EventArena::Counter& counter, std::uint64_t target) noexcept
      : arena_(std::move(arena)), counter_(counter), target_(target) {}

  Progress execute(Stream&) noexcept override {
    arena_->reach(counter_, target_);
    return Progress::done;
  }

 private:
  std::shared_ptr<EventArena> arena_;
  const EventArena::Counter& counter_;  // the arena's
  std::uint64_t target_;
};

/// Parks the stream until a record is complete, wherever it was made.
class WaitShared final : public Command, private EventArena::Sleeper {
 public:
  WaitShared(std::shared_ptr<EventArena> arena, const SharedRecord& record, Stream& stream, backend::Host host,
             std::uint64_t cookie) noexcept
      : arena_(std::move(arena)), record_(record), stream_(stream), host_(host), cookie_(cookie) {}

  Progress execute(Stream&) noexcept override {
    State seen = arena_->look(record_);
    if (seen == State::pending) {
      try {
        // The watching thread may complete this command, and end it, before the call returns: the arena is kept here.
        const std::shared_ptr<EventArena> arena = arena_;
        arena->wake_when_over(record_, *this);
        return Progress::elsewhere;
      } catch (const std::exception&) {  // no thread or no memory: this thread waits itself
        seen = arena_->wait(record_, Deadline::never(), false);
      }
    }
    note(seen);
    return Progress::done;
  }

 private:
  void wake(State state) noexcept override {
    note(state);
    stream_.finish_elsewhere();
  }
  void note(State state) noexcept {
    if (state == State::gone) host_.stream_fault(cookie_, ANYPLACE_STATUS_PEER_GONE, gone_text);
  }

  std::shared_ptr<EventArena> arena_;
  SharedRecord record_;
  Stream& stream_;  // its own work
  backend::Host host_;
  std::uint64_t cookie_;
};

}  // namespace

std::unique_ptr<SharedEvent> SharedEvent::make() {
  std::shared_ptr<EventArena> arena = EventArena::own();
  const std::uint32_t number = arena->take_event();
  try {
    return std::make_unique<SharedEvent>(arena, number, true);
  } catch (...) {
    arena->give_event(number);
    throw;
  }
}

std::unique_ptr<SharedEvent> SharedEvent::import(const anyplace_ipc_handle& handle) {
  EventBytes bytes{};
  if (handle.byte_count != sizeof(bytes)) bad_argument("the bytes are no event of cpu_sim's");
  std::memcpy(&bytes, handle.bytes, sizeof(bytes));
  if (bytes.number >= EventArenaLayout::events) bad_argument("the bytes are no event of cpu_sim's");
  std::shared_ptr<EventArena> arena = EventArena::join({{bytes.pid, bytes.start}, bytes.nonce, bytes.descriptor});
  return std::make_unique<SharedEvent>(std::move(arena), bytes.number, false);
}

void SharedEvent::export_to(anyplace_ipc_handle& out) const noexcept {
  const backend::ArenaAddress& address = arena_->address();
  EventBytes bytes{};
  bytes.start = address.owner.start;
  bytes.nonce = address.nonce;
  bytes.pid = address.owner.pid;
  bytes.descriptor = address.descriptor;
  bytes.number = number_;
  out.byte_count = sizeof(bytes);
  std::memcpy(out.bytes, &bytes, sizeof(bytes));
}

SharedRecord SharedEvent::record(Stream& stream, Record& local) {
  EventArena::Counter& counter = arena_->counter_of(stream);
  SharedRecord made;
  {
    const std::lock_guard lock(counter.submit);
    const std::uint64_t target = counter.issued + 1;
    made = SharedRecord::of(counter.index, counter.generation, target);
    // Where nothing is pending no thread has to be woken for it.
    std::uint64_t number = stream.mark();
    if (stream.timeline().reached(number)) {
      arena_->reach(counter, target);
    } else {
      number = stream.submit<ReachTarget>(arena_, counter, target);
    }
    counter.issued = target;
    local = {&stream.timeline(), number};
  }
  arena_->event(number_).store(made.word, std::memory_order_seq_cst);
  return made;
}

bool SharedEvent::complete(const SharedRecord& record) const {
  const State seen = arena_->find_out(record);
  if (seen == State::gone) fail(ANYPLACE_STATUS_PEER_GONE, gone_text);
  return seen == State::done;
}

bool SharedEvent::synchronize(const SharedRecord& record, std::uint64_t timeout_ns, bool spins) const {
  const State seen = arena_->wait(record, Deadline::after(timeout_ns), spins);
  if (seen == State::gone) fail(ANYPLACE_STATUS_PEER_GONE, gone_text);
  return seen == State::done;
}

void SharedEvent::hold_back(Stream& stream, const SharedRecord& record, backend::Host host,
                            std::uint64_t cookie) const {
  if (arena_->look(record) == State::done) {
    stream.mark();
  } else {
    stream.submit<WaitShared>(std::shared_ptr<EventArena>(arena_), record, stream, host, cookie);
  }
}

}  // namespace anyplace::cpu_sim
