// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include "clock.h"
#include "director.h"
#include "kernel.h"
#include "operation.h"
#include "short_copy.h"
#include "stream_pool.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

// A stream keeps its thread for so many commands, and so long, while others as urgent are ready. (More urgent ones get
// it at the next command.) The clock is read at every clock_commands-th command only: reading it takes as long as a
// short kernel.
constexpr unsigned slice_commands = 16;
constexpr unsigned clock_commands = 4;
// A worker that has run all commands it knew of ends its slice if there are fewer new ones than this: reading each
// command as soon as it was written costs both threads more than running it.
constexpr std::uint64_t few_commands = 64;
// One thread runs this many streams that wake each other one after the other before it looks at others.
constexpr int most_streams = 64;
constexpr std::int64_t slice_ns = 100'000;

constexpr std::uint64_t no_target = UINT64_MAX;

}  // namespace

Stream::Stream(StreamPool& pool, Scheduler& scheduler) noexcept
    : scheduler_(scheduler), wakeup_(*this), spread_(*this), pool_(pool) {}

// ---- Life ----------------------------------------------------------------------------------------------------------

void Stream::open(Device& device, std::uint64_t cookie, std::int32_t priority, Rule rule) noexcept {
  device_ = &device;
  cookie_ = cookie;
  rule_ = rule;
  null_seen_ = 0;
  stepped_ = 0;
  set_level(level_of(priority));
  spread_.adopt_level();
  {
    std::lock_guard lock(lock_);
    handles_ = 1;
    for (SubmittedWait& wait : waits_) wait = {};
  }
  device.add(*this);
}

void Stream::add_handle() noexcept {
  std::lock_guard lock(lock_);
  ++handles_;
}

void Stream::drop_handle() noexcept {
  bool last = false;
  {
    std::lock_guard lock(lock_);
    last = --handles_ == 0 && !active_.load(std::memory_order_relaxed);
  }
  if (last) recycle();
}

/// The thread that found neither a handle nor work calls this: nobody else can reach the stream then.
void Stream::recycle() noexcept {
  device_->remove(*this);
  CommandQueue::free_chunk(queue_.clear());
  if (Director* const director = Director::get()) director->forget_stream(number_);
  pool_.give_back(*this);
}

/// Makes an empty stream idle. Returns false if something was submitted meanwhile; else the caller no longer owns the
/// stream.
bool Stream::go_idle(std::uint64_t retired) noexcept {
  void* left_over = nullptr;
  bool last = false;
  {
    std::lock_guard lock(lock_);
    if (submitted_.load(std::memory_order_relaxed) != retired) return false;
    active_.store(false, std::memory_order_release);
    kernels_ = 0;
    left_over = queue_.rest();
    last = handles_ == 0;
  }
  CommandQueue::free_chunk(left_over);
  if (last) recycle();
  return true;
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

namespace {

/// Returns whether the record is that of a stream's last submission and not known to be done. (A graph's records are of
/// no stream.)
bool may_work_at(const Record& record) noexcept {
  const Stream* const owner = record.timeline->owner();
  return owner != nullptr && owner->works_at(record.target);
}

}  // namespace

void Stream::submit_wait(const Record& record) {
  // A record that is complete or earlier in the same stream needs no wait, but the null stream's rule still applies.
  if (record.timeline == &timeline_ || record.timeline == nullptr || (!may_work_at(record) && record.complete())) {
    mark();
  } else {
    ordered([&] { return push_wait(record); });
  }
}

std::uint64_t Stream::push_wait(const Record& record) {
  return push([&] {
    queue_.emplace_wait(*record.timeline, record.target);
    waits_[next_wait_] = {record, submitted_.load(std::memory_order_relaxed) + 1};
    next_wait_ = static_cast<std::uint8_t>((next_wait_ + 1) % waits);
  });
}

std::uint64_t Stream::submit_copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes) {
  return ordered([&] { return push([&] { queue_.emplace_copy(destination, source, bytes); }); });
}

std::uint64_t Stream::submit_fill(anyplace_address address, std::uint32_t value, std::uint32_t width,
                                  std::uint64_t count) {
  return ordered([&] { return push([&] { queue_.emplace_fill(address, value, width, count); }); });
}

Stream::Dependencies Stream::dependencies(std::uint64_t target) noexcept {
  Dependencies found;
  found.records[0] = waits_for_.read();
  std::lock_guard lock(lock_);
  unsigned count = 1;
  for (const SubmittedWait& wait : waits_) {
    if (wait.number <= target) found.records[count++] = wait.record;
  }
  return found;
}

namespace {

/// This command only holds a reference to a kernel, until the stream reaches it.
class DropKernel final : public Command {
 public:
  explicit DropKernel(Ref<Kernel> kernel) noexcept : kernel_(std::move(kernel)) {}
  Progress execute(Stream&) noexcept override { return Progress::done; }
  void describe(Operation& out) const override { out.be_silent("release of a kernel"); }

 private:
  Ref<Kernel> kernel_;
};

}  // namespace

void Stream::keep_while_queued(const Ref<Kernel>& kernel) noexcept {
  std::lock_guard lock(lock_);
  // The thread that ran a complete command doesn't use its kernel any more, even if that thread still owns the stream.
  if ((kernels_ & kernel->mark()) == 0) {
    backend::acquire_from_sanitizer(&timeline_);  // Who cleared kernels_ had seen the launches complete.
    return;
  }
  if (timeline_.reached(submitted_.load(std::memory_order_relaxed))) return;
  try {
    queue_.emplace<DropKernel>(0, Ref<Kernel>(kernel));
    backend::release_to_sanitizer(&submitted_);
    submitted_.store(submitted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    kernel->retain();  // The kernel may be in use, so it is leaked.
  }
}

// ---- Executing -----------------------------------------------------------------------------------------------------

/// Executes a wait. Returns false if the stream was parked.
bool Stream::wait(Timeline& timeline, std::uint64_t target) noexcept {
  if (timeline.reached(target)) return true;
  waits_for_.write({&timeline, target});
  return !park(timeline, target);
}

/// Executes the front entry. Returns false if the stream was passed on; neither the stream nor the entry may be touched
/// then.
bool Stream::execute(Entry& entry) noexcept {
  switch (entry.kind) {
    case Entry::launch: {
      anyplace_block block = one_block(entry.packed);
      entry.kernel->run_one_block(block, entry.arguments(), cookie_);
      return true;
    }
    case Entry::wait:
      return wait(*entry.timeline, entry.target());
    case Entry::copy:
      run_copy(entry.address, entry.short_copy().source, entry.short_copy().bytes);
      return true;
    case Entry::fill:
      run_fill(entry.address, entry.packed, entry.short_fill().width, entry.short_fill().count);
      return true;
    default:
      if (entry.command().execute(*this) == Progress::elsewhere) return false;
      entry.command().~Command();
      return true;
  }
}

/// Returns whether the next command will park the stream. The owner calls it when it knows that there is a next
/// command.
bool Stream::parks_next() noexcept {
  Entry& entry = queue_.front();
  return entry.kind == Entry::wait && !entry.timeline->reached(entry.target());
}

Stream::End Stream::run_slice(Slice& slice) noexcept {
  std::uint64_t retired = timeline_.value();
  backend::acquire_from_sanitizer(&timeline_);
  backend::acquire_from_sanitizer(&submitted_);
  unsigned shared = 0;  // It counts the commands that were run while streams as urgent were ready.
  std::int64_t began = 0;
  for (;;) {
    if (retired >= seen_) {
      seen_ = submitted();
      backend::acquire_from_sanitizer(&submitted_);
      if (retired == seen_) {
        if (go_idle(retired)) return End::idle;
        continue;
      }
      if (!slice.by_host && slice.commands > 0 && seen_ - retired < few_commands) return End::few_ready;
    }
    if (retired >= slice.target) return End::ready;
    // A stream that this one woke is readied before this one's next command runs, unless that command only parks this
    // stream.
    if (slice.next != nullptr && !parks_next()) scheduler_.enqueue_woken(*std::exchange(slice.next, nullptr));
    if (!execute(queue_.front())) return End::elsewhere;
    queue_.pop();
    timeline_.advance(++retired, slice.next);
    ++slice.commands;
    // While one more thread may run tasks, a host that goes on keeps none from running.
    if (slice.by_host && !scheduler_.full()) continue;
    if (scheduler_.more_urgent(level())) return End::ready;
    if (!scheduler_.as_urgent(level()) || ++shared % clock_commands != 0) continue;
    if (shared == slice_commands) return End::ready;
    const std::int64_t now = now_ns();
    if (began == 0) began = now;
    if (now - began > slice_ns) return End::ready;
  }
}

Task::Done Stream::run() noexcept {
  const std::uint32_t host_actions = scheduler_.host_actions();
  Stream* stream = this;
  std::uint64_t commands = 0;
  for (int streams = 1;; ++streams) {
    Slice slice{no_target, false};
    Scheduler& scheduler = stream->scheduler_;
    const End end = stream->run_slice(slice);
    commands += slice.commands;
    if (end == End::ready || end == End::few_ready) scheduler.enqueue(*stream);
    if (slice.next == nullptr) return {commands, end == End::idle || end == End::few_ready};
    stream = slice.next;
    if (scheduler.more_urgent(stream->level()) ||
        (streams >= most_streams && (scheduler.others_ready() || scheduler.host_actions() != host_actions))) {
      scheduler.enqueue_woken(*stream);
      return {commands, false};
    }
  }
}

void Stream::step() noexcept {
  Scheduler& scheduler = scheduler_;
  Slice slice{timeline_.value() + 1, true};
  Operation next;
  describe(next);
  // A wait for a message is a choice, though it does nothing.
  stepped_ += next.message != nullptr ? 1 : next.operations;
  const End end = run_slice(slice);
  if (end == End::ready) scheduler.enqueue(*this);
  if (slice.next != nullptr) scheduler.enqueue_woken(*slice.next);
}

namespace {

/// Says whose memory a copy reads and writes.
void locate(Operation& copy, Device& device) {
  const auto owner_of = [&device](const std::vector<Operation::Range>& ranges) {
    if (ranges.empty()) return Operation::host;
    const std::int32_t owner = device.addresses().reach(device.index(), ranges.front().begin).owner;
    return owner < every_device ? owner : Operation::host;
  };
  copy.from = owner_of(copy.reads);
  copy.to = owner_of(copy.writes);
}

}  // namespace

void Stream::describe_itself(Operation& out) const {
  out.device = device_->index();
  out.stream = number_;
  out.done = stepped_;
  out.left = submitted() - timeline_.value();
  out.timeline = &timeline_;
  out.waits_for = waits_for_.read();
}

void Stream::describe(Operation& out) {
  describe_itself(out);
  if (out.left == 0) return;
  describe_front(out);
  if (out.kind == Operation::Kind::copy) locate(out, *device_);
  for (Operation& node : out.nodes) {
    if (node.kind == Operation::Kind::copy) locate(node, *device_);
  }
}

void Stream::describe_front(Operation& out) {
  Entry& entry = queue_.front();
  switch (entry.kind) {
    case Entry::launch:
      return out.be_kernel(entry.kernel->name(), 1, threads_of(entry.packed));
    case Entry::wait:
      return out.be_silent("wait");
    case Entry::copy:
      return out.be_copy(entry.address, entry.short_copy().source, entry.short_copy().bytes);
    case Entry::fill:
      return out.be_fill(entry.address, entry.short_fill().width * entry.short_fill().count);
    default:
      return entry.command().describe(out);
  }
}

/// Completes the front command, which was executed elsewhere. If the next one is the host thread's as well and
/// `keeps_host_work`, the caller keeps the stream and gets that work; else the stream is passed on.
HostWork* Stream::complete_front(bool keeps_host_work) noexcept {
  queue_.front().command().~Command();
  queue_.pop();
  const std::uint64_t retired = timeline_.value() + 1;
  Scheduler& scheduler = scheduler_;
  Stream* woken = nullptr;
  timeline_.advance(retired, woken);
  HostWork* next = nullptr;
  if (submitted() != retired || !go_idle(retired)) {
    backend::acquire_from_sanitizer(&submitted_);
    if (keeps_host_work && queue_.front().kind == Entry::for_host) {
      next = &queue_.front().host_command().work();
    } else {
      scheduler.enqueue(*this);
    }
  }
  if (woken != nullptr) scheduler.enqueue_woken(*woken);
  return next;
}

void Stream::finish_elsewhere() noexcept { static_cast<void>(complete_front(false)); }

HostWork* Stream::finish_host_function() noexcept {
  return complete_front(Director::get() == nullptr);  // In the deterministic mode the next one is a choice.
}

/// Runs this stream on a host that has claimed it. If this stream then waits for a stream that it woke, the
/// host runs that one next.
void Stream::help_run(std::uint64_t target) noexcept {
  Scheduler& scheduler = scheduler_;
  Stream* stream = this;
  for (int streams = 1;; ++streams) {
    Slice slice{target, true};
    const End end = stream->run_slice(slice);
    if (end == End::ready) scheduler.enqueue(*stream);
    if (slice.next == nullptr) return;
    // Another thread may have the stream by now. What it waits for matters only if it hasn't reached the target.
    const Record needed = end == End::elsewhere ? stream->waits_for_.read() : Record{};
    const bool passed = stream->timeline_.reached(target);
    stream = slice.next;
    if (passed || (streams >= most_streams && scheduler.others_ready()) || needed.timeline != &stream->timeline_ ||
        scheduler.delays_more_urgent(stream->level())) {
      return scheduler.enqueue_woken(*stream);
    }
    target = needed.target;
  }
}

bool Stream::help(std::uint64_t target) noexcept {
  Scheduler& scheduler = scheduler_;
  const HelpingScope scope;
  if (scheduler.claim(*this)) {
    help_run(target);
  } else if (spread_.queued() && spread_.is_worth_joining() && scheduler.claim(spread_)) {
    // The command isn't complete while this thread holds a piece of it. So it is at or before the target, unless the
    // target was reached meanwhile.
    if (timeline_.reached(target)) {
      scheduler.enqueue_woken(spread_);
    } else {
      spread_.run();
    }
  } else {
    return false;
  }
  scheduler.done();
  return true;
}

}  // namespace anyplace::cpu_sim
