// SPDX-License-Identifier: Apache-2.0
#include "shared_event.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "anyplace/backend/kit/ipc_bytes.h"
#include "device.h"
#include "stream.h"

namespace anyplace::levelzero {
namespace {

using backend::EventArena;
using State = EventArena::State;

constexpr const char* gone_text = "the process that recorded the event has ended before what it recorded was complete";

/// The bytes of a handle for another process.
struct EventBytes {
  std::uint64_t start;
  std::uint64_t nonce;
  std::uint32_t pid;
  std::uint32_t descriptor;
  std::uint32_t number;
  std::uint32_t reserved;
};

/// A stream that waits for another process's record. It deletes itself when it is woken.
class Waiting final : public EventArena::Sleeper {
 public:
  Waiting(std::shared_ptr<EventArena> arena, Waiter& helper, Waiter::JobRef job, backend::Host host,
          std::uint64_t cookie) noexcept
      : arena_(std::move(arena)), helper_(helper), job_(std::move(job)), host_(host), cookie_(cookie) {}

 private:
  /// Runs on the arena's thread, which must not call Level Zero because it isn't ended at exit. The helper, which is
  /// ended, signals instead.
  void wake(State state) noexcept override {
    if (state == State::gone) host_.stream_fault(cookie_, ANYPLACE_STATUS_PEER_GONE, gone_text);
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
  const auto bytes = backend::read_ipc_bytes<EventBytes>(handle, "Level Zero");
  if (bytes.number >= backend::EventArenaLayout::events) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the bytes are no event's");
  }
  std::shared_ptr<EventArena> arena = EventArena::join({{bytes.pid, bytes.start}, bytes.nonce, bytes.descriptor});
  return std::make_unique<SharedEvent>(std::move(arena), bytes.number, false);
}

void SharedEvent::export_to(anyplace_ipc_handle& out) const noexcept {
  const backend::ArenaAddress& address = arena_->address();
  const EventBytes bytes{address.owner.start, address.nonce, address.owner.pid, address.descriptor, number_, 0};
  backend::write_ipc_bytes(bytes, out);
}

SharedRecord SharedEvent::record(Stream& stream, SignalRef& done) {
  if (counter_ == nullptr || counted_ != stream.cookie()) {
    counter_ = arena_->make_counter();
    counted_ = stream.cookie();
  }
  SharedRecord made;
  {
    const std::lock_guard lock(counter_->submit);
    const std::uint64_t target = counter_->issued + 1;
    made = counter_->record(target);
    done = stream.marker();
    if (!done || done->is_complete()) {
      counter_->reach(target);
    } else {
      // At exit the helper calls its remaining steps as for a lost device, although their work may be done; so the
      // signal is queried once more.
      Waiter::Step step = [counter = counter_, target, before = done](anyplace_status status) {
        const bool good = status == ANYPLACE_STATUS_OK || before->is_complete_for_sure();
        good ? counter->reach(target) : counter->abandon();
      };
      Submission(stream).append_host_step(stream.device().helper(), std::move(step));
      done = stream.marker();
    }
    counter_->issued = target;
  }
  arena_->event(number_).store(made.word, std::memory_order_seq_cst);
  return made;
}

bool SharedEvent::complete(const SharedRecord& record) const {
  const State seen = arena_->find_out(record);
  if (seen == State::gone) refuse(ANYPLACE_STATUS_PEER_GONE, gone_text);
  return seen == State::done;
}

bool SharedEvent::synchronize(const SharedRecord& record, const Deadline& deadline) const {
  constexpr std::chrono::nanoseconds longest = std::chrono::seconds(1);
  const State seen = arena_->wait(record, [&] { return static_cast<std::int64_t>(deadline.left(longest).count()); });
  if (seen == State::gone) refuse(ANYPLACE_STATUS_PEER_GONE, gone_text);
  return seen == State::done;
}

void SharedEvent::hold_back(Stream& stream, const SharedRecord& record) const {
  if (arena_->look(record) == State::done) return;
  Device& device = stream.device();
  const SignalRef here = device.signals().take();
  auto waiting =
      std::make_unique<Waiting>(arena_, device.helper(), device.helper().make_job({}, here, nullptr, stream.cookie()),
                                device.host(), stream.cookie());
  stream.wait_for_host(here, [&] {
    arena_->wake_when_over(record, *waiting);
    static_cast<void>(waiting.release());  // it may have been woken and deleted already
  });
}

}  // namespace anyplace::levelzero
