// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include "clock.h"
#include "wait.h"

namespace anyplace::cpu_sim {
namespace {

// How long a stream keeps its worker while others as urgent are ready. (More urgent ones get it at the next command.)
constexpr int kTurnCommands = 16;
constexpr int64_t kTurnNs = 100'000;

}  // namespace

Stream::Stream(Device& device, uint64_t id, int32_t priority, Rule rule)
    : Task(level_of(priority)),
      device_(device),
      scheduler_(device.scheduler()),
      id_(id),
      rule_(rule),
      timeline_(make_ref<Timeline>()),
      wakeup_(*this),
      spread_(*this) {
  device_.add(*this);
}

Stream::~Stream() { device_.remove(*this); }

void Stream::submit_wait(Ref<Timeline> timeline, uint64_t target) {
  // What is earlier in the same stream, or complete, is no wait; but the null stream's rule holds all the same.
  if (timeline.get() == timeline_.get() || timeline->reached(target)) {
    mark();
  } else {
    submit<Wait>(std::move(timeline), target);
  }
}

Command& Stream::front() noexcept {
  std::lock_guard lock(mutex_);
  return *queue_.front();
}

/// Completes the front command. Returns the next one, or null: then the stream is idle, and no longer the caller's.
Command* Stream::retire(Command& command) noexcept {
  const std::size_t bytes = CommandQueue::bytes_of(command);
  command.~Command();
  timeline_->advance(++retired_);
  std::lock_guard lock(mutex_);
  queue_.pop(bytes);
  Command* next = queue_.front();
  if (next == nullptr) active_ = false;
  return next;
}

void Stream::run() noexcept {
  int commands = 0;
  int64_t began = 0;
  Command* command = &front();
  for (;;) {
    if (command->execute(*this) == Progress::kElsewhere) return;
    command = retire(*command);
    if (command == nullptr) return release();
    bool yield = scheduler_.more_urgent(level());
    if (!yield && scheduler_.as_urgent(level())) {
      if (commands++ == 0) began = now_ns();
      yield = commands == kTurnCommands || now_ns() - began > kTurnNs;
    }
    if (yield) return scheduler_.enqueue(*this);
  }
}

void Stream::finish_elsewhere() noexcept {
  if (retire(front()) == nullptr) {
    release();
  } else {
    scheduler_.enqueue(*this);
  }
}

}  // namespace anyplace::cpu_sim
