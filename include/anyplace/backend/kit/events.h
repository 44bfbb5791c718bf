// SPDX-License-Identifier: Apache-2.0
//
// Events for a vendor whose events have no wait with a limit. RecordedEvent is the object that an anyplace_event names.
// Marker and EventPool are the backend's own events, which are reused, to learn when work is over.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Device, Stream, Native, Result           types; Native{} is no event, Result{} is success
//   Native make(Device&, uint32_t flags)     flags are ANYPLACE_EVENT_*; throws
//   Result end(Device&, Native) noexcept
//   void check_end(Device&, Result)          throws what a destroy entry is to fail with
//   Result ask(Native)                       of the newest record: Result{} if it is done
//   bool answer(Device&, Native, Result)     what another result means; throws if it is a failure
//   void wait(Device&, Native)               without a limit; throws
//   void record(const Stream&, Native)       throws
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "../abi.h"
#include "deadline.h"

namespace anyplace::backend {

/// Whether the newest record of a vendor's event is done. Throws on failure.
template <class Vendor>
bool is_complete(typename Vendor::Device& device, typename Vendor::Native event) {
  const auto result = Vendor::ask(event);
  return result == typename Vendor::Result{} || Vendor::answer(device, event, result);
}

/// An event of the application. A wait with a limit asks the vendor again and again, and the vendor answers for the
/// newest record. So a record that is made while somebody waits for an older one goes to another of the vendor's
/// events. Thread-safe; destroy() is the last call.
template <class Vendor>
class RecordedEvent {
 public:
  using Device = typename Vendor::Device;
  using Stream = typename Vendor::Stream;
  using Native = typename Vendor::Native;

  /// Makes an event with these ANYPLACE_EVENT_* flags. Throws what the vendor reports.
  RecordedEvent(Device& device, std::uint32_t flags) : device_(device), flags_(flags) {
    first_.native = Vendor::make(device_, flags_);
    native_.store(first_.native, std::memory_order_relaxed);
    record_to_.store(first_.native, std::memory_order_relaxed);
  }
  /// Wraps a vendor's event that somebody else owns and that is never destroyed here.
  struct Borrowed {
    Native native;  ///< the vendor's event
  };
  /// Wraps somebody's event.
  RecordedEvent(Device& device, Borrowed wrapped) noexcept
      : device_(device), flags_(0), handed_out_(true), owned_(false) {
    first_.native = wrapped.native;
    native_.store(wrapped.native, std::memory_order_relaxed);
    record_to_.store(wrapped.native, std::memory_order_relaxed);
  }
  /// Takes over a vendor's event that others use, so it is never exchanged for another one.
  struct Adopted {
    Native native;  ///< the vendor's event
  };
  /// Takes over an event that others use.
  RecordedEvent(Device& device, Adopted opened) noexcept : device_(device), flags_(0), handed_out_(true) {
    first_.native = opened.native;
    native_.store(opened.native, std::memory_order_relaxed);
    record_to_.store(opened.native, std::memory_order_relaxed);
  }
  RecordedEvent(const RecordedEvent&) = delete;  // it owns events of the vendor's
  RecordedEvent& operator=(const RecordedEvent&) = delete;
  /// Ignores failures; destroy() throws them.
  ~RecordedEvent() {
    if (owned_) static_cast<void>(end_all());
  }

  /// The device that it belongs to.
  Device& device() const noexcept { return device_; }
  /// The vendor's event with the newest record.
  Native native() const noexcept { return native_.load(std::memory_order_acquire); }
  /// Gives native() to somebody who may keep it: from now on the vendor's event is never exchanged.
  Native hand_out() noexcept {
    const std::lock_guard lock(mutex_);
    handed_out_ = true;
    record_to_.store(current_->native, std::memory_order_release);
    return current_->native;
  }

  /// Records the event in the stream. Throws what the vendor reports.
  void record(const Stream& stream) {
    if (const Native to = record_to_.load(std::memory_order_acquire); to != Native{}) [[likely]] {
      Vendor::record(stream, to);
      // Otherwise somebody began to wait meanwhile, and a record of another thread may have gone to another of the
      // vendor's events before this one was made. Then this record must not count as the newer one.
      if (record_to_.load(std::memory_order_relaxed) == to) [[likely]]
        return;
    }
    record_apart(stream);
  }
  /// Whether the newest record is complete. Throws what the vendor reports.
  bool query() const {
    const auto result = Vendor::ask(native());
    if (result == typename Vendor::Result{}) [[likely]]
      return true;
    return query_after(result);
  }
  /// Waits for the newest record at the time of the call. Returns false when time ran out.
  bool synchronize(std::uint64_t timeout_ns);
  /// Destroys the vendor's events; on a lost device it calls nothing.
  void destroy() {
    if (!owned_) return;
    if (device_.lost()) {
      for_each_turn([](Turn& turn) { turn.native = Native{}; });
    } else {
      Vendor::check_end(device_, end_all());
    }
  }

 private:
  /// One of the vendor's events, and how many users need it unchanged: threads that wait with a limit for its record,
  /// and a thread that is about to record in it.
  struct Turn {
    Native native{};
    unsigned users = 0;
  };
  class Waiting {
   public:
    explicit Waiting(RecordedEvent& event) noexcept : event_(event), turn_(event.begin_wait()) {}
    Waiting(const Waiting&) = delete;  // it counts once
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { event_.end_use(turn_); }
    Native native() const noexcept { return turn_.native; }

   private:
    RecordedEvent& event_;
    Turn& turn_;
  };

  /// A separate function keeps query() small.
  [[gnu::noinline]] bool query_after(typename Vendor::Result result) const {
    return Vendor::answer(device_, native(), result);
  }
  Turn& begin_wait() noexcept {
    const std::lock_guard lock(mutex_);
    ++current_->users;
    if (!handed_out_) record_to_.store(Native{}, std::memory_order_release);
    return *current_;
  }
  void end_use(Turn& turn) noexcept {
    const std::lock_guard lock(mutex_);
    --turn.users;
    if (current_->users == 0 && !recording_apart_) record_to_.store(current_->native, std::memory_order_release);
  }

  [[gnu::noinline]] void record_apart(const Stream& stream);
  /// Returns false if another event was handed out meanwhile, which then stays the current one.
  bool make_current(Turn& turn) noexcept {
    const std::lock_guard lock(mutex_);
    if (handed_out_ && &turn != current_) return false;
    current_ = &turn;
    native_.store(turn.native, std::memory_order_release);
    return true;
  }
  void end_record(Turn& turn) noexcept {
    {
      const std::lock_guard lock(mutex_);
      recording_apart_ = false;
    }
    end_use(turn);
  }
  /// mutex_ is held.
  Turn& idle_turn();
  template <class Body>
  void for_each_turn(Body&& body) {
    body(first_);
    for (Turn& turn : others_) body(turn);
  }
  typename Vendor::Result end_all() noexcept {
    typename Vendor::Result first{};
    for_each_turn([&](Turn& turn) {
      if (turn.native == Native{}) return;
      const auto result = Vendor::end(device_, std::exchange(turn.native, Native{}));
      if (first == typename Vendor::Result{}) first = result;
    });
    return first;
  }

  Device& device_;
  std::atomic<Native> native_;     ///< current_->native
  std::atomic<Native> record_to_;  ///< native_, or none while somebody waits for it
  const std::uint32_t flags_;
  std::mutex recording_;  // serialises record_apart(); taken before mutex_
  std::mutex mutex_;  // guards all below and the writes of the two above; a leaf, under which at most an event is made
  bool handed_out_ = false;
  const bool owned_ = true;
  bool recording_apart_ = false;
  Turn first_;
  Turn* current_ = &first_;
  std::list<Turn> others_;  // all but first_; a list, because their addresses must not change
};

template <class Vendor>
void RecordedEvent<Vendor>::record_apart(const Stream& stream) {
  const std::lock_guard one_at_a_time(recording_);
  Turn* next = nullptr;
  {
    const std::lock_guard lock(mutex_);
    next = handed_out_ || current_->users == 0 ? current_ : &idle_turn();
    ++next->users;
    recording_apart_ = true;
    if (!handed_out_) record_to_.store(Native{}, std::memory_order_release);
  }
  // mutex_ isn't held: a vendor whose queue is full blocks here, and waits with a limit must not wait for that.
  try {
    Vendor::record(stream, next->native);
    if (!make_current(*next)) Vendor::record(stream, native());
  } catch (...) {
    end_record(*next);
    throw;
  }
  end_record(*next);
}

template <class Vendor>
typename RecordedEvent<Vendor>::Turn& RecordedEvent<Vendor>::idle_turn() {
  if (first_.users == 0) return first_;
  for (Turn& turn : others_) {
    if (turn.users == 0) return turn;
  }
  Turn& made = others_.emplace_back();
  try {
    made.native = Vendor::make(device_, flags_);
  } catch (...) {
    others_.pop_back();
    throw;
  }
  return made;
}

template <class Vendor>
bool RecordedEvent<Vendor>::synchronize(std::uint64_t timeout_ns) {
  if (timeout_ns == ANYPLACE_FOREVER) {
    Vendor::wait(device_, native());
    return true;
  }
  const Deadline deadline(timeout_ns);
  if (query()) return true;
  if (timeout_ns == 0) return false;
  // The call below waits for the newest record, so a record between the two would be meant as well.
  const Waiting waiting(*this);
  return poll_until(deadline, [&] { return is_complete<Vendor>(device_, waiting.native()); });
}

/// A pool of the backend's own events for one device. An event is made when none is free.
template <class Vendor>
class EventPool {
 public:
  using Device = typename Vendor::Device;
  using Native = typename Vendor::Native;

  /// An empty pool for `device`, which outlives it.
  explicit EventPool(Device& device) noexcept : device_(device) {}
  EventPool(const EventPool&) = delete;  // it owns events
  EventPool& operator=(const EventPool&) = delete;

  /// An event that nobody uses, with no flag. Throws what the vendor reports. Thread-safe.
  Native take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const Native event = idle_.back();
        idle_.pop_back();
        return event;
      }
    }
    return Vendor::make(device_, 0);
  }
  /// Gives an event back. Without memory for that, the event is destroyed. Thread-safe.
  void give(Native event) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      idle_.push_back(event);
    } catch (const std::bad_alloc&) {
      static_cast<void>(Vendor::end(device_, event));
    }
  }
  /// Destroys the events, when nobody takes or gives any more. Returns the first failure.
  typename Vendor::Result close() noexcept {
    typename Vendor::Result first{};
    for (const Native event : idle_) {
      const auto result = Vendor::end(device_, event);
      if (first == typename Vendor::Result{}) first = result;
    }
    idle_.clear();
    return first;
  }

 private:
  Device& device_;
  std::mutex mutex_;  // guards idle_; a leaf
  std::vector<Native> idle_;
};

/// A moment in a stream. It tells whether the work before it is over, and gives its event back to the pool.
template <class Vendor>
class Marker {
 public:
  using Device = typename Vendor::Device;
  using Native = typename Vendor::Native;

  /// Takes an event of `pool` that was recorded at the moment.
  Marker(Device& device, EventPool<Vendor>& pool, Native event) noexcept
      : device_(device), pool_(pool), event_(event) {}
  Marker(const Marker&) = delete;  // it gives the event back once
  Marker& operator=(const Marker&) = delete;
  ~Marker() { pool_.give(event_); }

  /// The event that marks the moment.
  Native event() const noexcept { return event_; }
  /// Whether the work before the moment is over. Throws what the vendor reports.
  bool is_over() const { return is_complete<Vendor>(device_, event_); }

 private:
  Device& device_;
  EventPool<Vendor>& pool_;
  const Native event_;
};

}  // namespace anyplace::backend
