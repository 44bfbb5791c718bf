// SPDX-License-Identifier: Apache-2.0
//
// Work: tracks what was submitted to a device and may not be over: its streams, and the work of destroyed streams. It
// is for a vendor whose waits for a device or a stream have no limit. With it a wait can have a limit, a module is
// unloaded when nothing queued needs it, and a stream is destroyed when its work is over. Where the vendor's destroy
// call waits for the stream's work, a busy stream is retired instead, and sweep(), on the Watcher's thread, destroys it
// later.
//
// Invariant: the result of pending() covers everything submitted before the call.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Device               DeviceBase of device_base.h, or with the same members
//   Events               the Vendor of events.h, of the same Device
//   Stream               the backend's class for a stream. It has native(), is_null() (the vendor's default stream: a
//                        marker in it would order the others), is_ours() (made by the backend), query() (whether it is
//                        idle; throws), record(event) and a public StreamLinks<Stream> links, which is Work's
//   destroying_waits     bool: a stream that is destroyed before its work is over blocks the thread
//   context_has_streams  bool: the streams that are left at the end go with the device's context
//   bool is_null_idle(Device&)                     throws
//   bool is_idle(Device&, native stream)           throws
//   Result destroy(Device&, native stream) noexcept
//   const char* destroy_call                       its name
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../device_backend.h"
#include "deadline.h"
#include "events.h"
#include "watcher.h"

namespace anyplace::backend {

/// The links of an intrusive list, so that joining and leaving it allocates nothing.
template <class Stream>
struct StreamLinks {
  Stream* next = nullptr;      ///< the stream that was added after it
  Stream* previous = nullptr;  ///< the stream that was added before it
};

template <class Vendor>
class Work;

/// Work that is waited for. It may be used by any thread, one at a time.
template <class Vendor>
class PendingWork {
 public:
  /// Throws what the vendor reports of the work, such as DEVICE_LOST. Other failures are thrown only when they repeat:
  /// one query that failed says nothing of the work, and to treat it as failed would leak what its end frees.
  bool is_over() const {
    try {
      const bool over = ask();
      failures_ = 0;
      return over;
    } catch (const Failure& failure) {
      if (failure.status() == ANYPLACE_STATUS_DEVICE_LOST || ++failures_ > patience) throw;
      return false;
    }
  }

 private:
  friend class Work<Vendor>;
  static constexpr unsigned patience = 8;

  bool ask() const {
    if (null_stream_of_ != nullptr && !Vendor::is_null_idle(*null_stream_of_)) return false;
    const auto over = [](const auto& pending) { return pending->is_over(); };
    return std::all_of(markers_.begin(), markers_.end(), over) && std::all_of(retired_.begin(), retired_.end(), over);
  }

  mutable unsigned failures_ = 0;
  std::vector<std::shared_ptr<Marker<typename Vendor::Events>>> markers_;
  std::vector<std::shared_ptr<typename Work<Vendor>::RetiredStream>> retired_;
  /// If set, this device's null stream is queried directly: a marker in it would order the other streams and wait for
  /// them.
  typename Vendor::Device* null_stream_of_ = nullptr;
};

/// Thread-safe.
template <class Vendor>
class Work {
 public:
  using Device = typename Vendor::Device;
  using Result = typename Device::Result;
  using NativeStream = typename Device::Stream;  ///< the vendor's stream
  using Stream = typename Vendor::Stream;
  using Marker = backend::Marker<typename Vendor::Events>;
  using EventPool = backend::EventPool<typename Vendor::Events>;

  /// Work of `device`, with markers of `pool`; both outlive it.
  Work(Device& device, EventPool& pool) noexcept : device_(device), pool_(pool) {}
  Work(const Work&) = delete;  // streams are linked into it
  Work& operator=(const Work&) = delete;

  /// Makes the vendor's call.
  static Result destroy(Device& device, NativeStream stream) noexcept { return Vendor::destroy(device, stream); }

  /// Adds a stream, whose work counts from now on.
  void add(Stream& stream) noexcept;
  /// Removes a stream that was added; it returns at once, and the stream's work completes. The vendor's stream is
  /// destroyed only if the backend made it. Throws nothing if the device is lost. The stream is removed in any case.
  void end(Stream& stream);
  /// Waits for the present work of the stream. Returns false when time ran out.
  bool wait_for(const Stream& stream, std::uint64_t timeout_ns) const {
    const Deadline deadline(timeout_ns);
    // A marker in the null stream would order the other streams.
    if (timeout_ns == 0 || stream.is_null()) return poll_until(deadline, [&] { return stream.query(); });
    // Later work isn't waited for, because a stream that is always busy may never be found idle.
    const std::shared_ptr<Marker> marker = mark(stream);
    return marker == nullptr || poll_until(deadline, [&] { return marker->is_over(); });
  }
  /// All work that was submitted up to now. Puts markers into the streams; throws what the vendor reports.
  PendingWork<Vendor> pending();
  /// Whether all work is over now. Unlike pending() it puts no markers into the streams, so a concurrent query of a
  /// stream sees only its own work.
  bool is_idle();
  /// Destroys the retired streams whose work is over, and releases the markers that are.
  void sweep() noexcept;
  /// Whether streams were ended whose work isn't known to be over.
  bool any_retired() const noexcept { return retired_count_.load(std::memory_order_acquire) != 0; }
  /// Called when all work is over: releases everything and destroys the remaining streams that the backend made.
  /// Returns the first failure to destroy a stream, also of an earlier sweep.
  Result close() noexcept;
  /// The first failure to destroy a stream; success if there was none.
  Result failure() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  friend class PendingWork<Vendor>;

  /// A stream that the backend made and whose handle was destroyed. Nothing is submitted to it any more, so a query
  /// tells whether its work is over. The destructor destroys the stream.
  class RetiredStream {
   public:
    RetiredStream(Work& work, NativeStream native) noexcept : work_(work), native_(native) {}
    RetiredStream(const RetiredStream&) = delete;  // it owns the stream
    RetiredStream& operator=(const RetiredStream&) = delete;
    ~RetiredStream() {
      if (!work_.device_.lost()) work_.note_failure(Vendor::destroy(work_.device_, native_));
    }

    bool is_over() const { return Vendor::is_idle(work_.device_, native_); }

   private:
    Work& work_;
    const NativeStream native_;
  };
  using RetiredStreams = std::vector<std::shared_ptr<RetiredStream>>;

  /// The answer of `question`; false if it failed. Throws only if the device is lost.
  template <class Question>
  bool surely(Question&& question) const {
    try {
      return question();
    } catch (const Failure&) {
      if (device_.lost()) throw;
      return false;
    }
  }
  /// Returns true if the backend made the stream and its work isn't over, so that the vendor's stream has to be kept
  /// until then.
  bool remove(Stream& stream);
  /// Keeps the vendor's stream until its work is over. The caller holds the mutex.
  void retire(const Stream& stream);
  void keep_until_over(const Stream& stream) noexcept;
  /// Marks the present work of the stream; null if that is over. Not for the null stream, where a marker would order
  /// the others.
  std::shared_ptr<Marker> mark(const Stream& stream) const;
  /// Removes from the lists what is over. The caller releases the streams after it unlocked the mutex.
  RetiredStreams take_what_is_over();
  /// Notes that a retired stream couldn't be destroyed. The failure isn't the fault of the thread that noticed it, so
  /// close() returns it.
  void note_failure(Result result) noexcept;

  Device& device_;
  EventPool& pool_;
  std::atomic<std::size_t> retired_count_{0};
  std::atomic<Result> failed_{Result{}};
  // Guards all below, and is taken before EventPool's. Only calls that don't wait are made under it.
  std::mutex mutex_;
  Stream* first_ = nullptr;
  bool null_stream_used_ = false;
  RetiredStreams retired_;
  std::vector<std::shared_ptr<Marker>> left_behind_;  ///< of streams that ended without being retired
};

template <class Vendor>
void Work<Vendor>::add(Stream& stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (stream.is_null()) {
    null_stream_used_ = true;
    return;
  }
  stream.links.next = first_;
  if (first_ != nullptr) first_->links.previous = &stream;
  first_ = &stream;
}

template <class Vendor>
bool Work<Vendor>::remove(Stream& stream) {
  if (stream.is_null()) return false;
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  const StreamLinks<Stream> links = std::exchange(stream.links, {});
  (links.previous != nullptr ? links.previous->links.next : first_) = links.next;
  if (links.next != nullptr) links.next->links.previous = links.previous;
  if (device_.lost()) return false;
  over = take_what_is_over();
  if (!Vendor::destroying_waits || !stream.is_ours()) {
    if (std::shared_ptr<Marker> marker = mark(stream)) left_behind_.push_back(std::move(marker));
    return false;
  }
  if (stream.query()) return false;
  retire(stream);
  return true;
}

template <class Vendor>
void Work<Vendor>::retire(const Stream& stream) {
  retired_.reserve(retired_.size() + 1);
  retired_.push_back(std::make_shared<RetiredStream>(*this, stream.native()));
  retired_count_.store(retired_.size(), std::memory_order_release);
}

template <class Vendor>
void Work<Vendor>::keep_until_over(const Stream& stream) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    retire(stream);
  } catch (...) {  // without memory to keep it in, it goes now
    static_cast<void>(Vendor::destroy(device_, stream.native()));
    return;
  }
  device_.watcher().wake();
}

template <class Vendor>
void Work<Vendor>::end(Stream& stream) {
  try {
    if (remove(stream)) return device_.watcher().wake();
  } catch (...) {
    // Its work couldn't be marked or asked for, so the stream is kept until an answer says that the work is over.
    if (stream.is_ours() && !device_.lost()) keep_until_over(stream);
    throw;
  }
  if (!stream.is_ours() || device_.lost()) return;
  device_.check_end(Vendor::destroy(device_, stream.native()), Vendor::destroy_call);
}

template <class Vendor>
PendingWork<Vendor> Work<Vendor>::pending() {
  PendingWork<Vendor> pending;
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  over = take_what_is_over();
  pending.markers_ = left_behind_;
  pending.retired_ = retired_;
  for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
    if (std::shared_ptr<Marker> marker = mark(*stream)) pending.markers_.push_back(std::move(marker));
  }
  const bool idle = !null_stream_used_ || surely([this] { return Vendor::is_null_idle(device_); });
  if (!idle) pending.null_stream_of_ = &device_;
  return pending;
}

template <class Vendor>
bool Work<Vendor>::is_idle() {
  RetiredStreams over;
  const std::lock_guard lock(mutex_);
  over = take_what_is_over();
  if (!left_behind_.empty() || !retired_.empty()) return false;
  return surely([this] {
    if (null_stream_used_ && !Vendor::is_null_idle(device_)) return false;
    for (Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
      if (!stream->query()) return false;
    }
    return true;
  });
}

template <class Vendor>
auto Work<Vendor>::mark(const Stream& stream) const -> std::shared_ptr<Marker> {
  if (surely([&] { return stream.query(); })) return nullptr;
  const auto event = pool_.take();
  std::shared_ptr<Marker> marker;
  try {
    marker = std::make_shared<Marker>(device_, pool_, event);
  } catch (...) {
    pool_.give(event);
    throw;
  }
  stream.record(event);
  return marker;
}

template <class Vendor>
auto Work<Vendor>::take_what_is_over() -> RetiredStreams {
  RetiredStreams over;
  over.reserve(retired_.size());
  // Work that can't be queried because the device is lost isn't waited for either.
  const auto is_over = [this](const auto& pending) {
    try {
      return pending->is_over();
    } catch (...) {
      return device_.lost();
    }
  };
  left_behind_.erase(std::remove_if(left_behind_.begin(), left_behind_.end(), is_over), left_behind_.end());
  const auto first_over =
      std::stable_partition(retired_.begin(), retired_.end(), [&](const auto& each) { return !is_over(each); });
  over.assign(std::make_move_iterator(first_over), std::make_move_iterator(retired_.end()));
  retired_.erase(first_over, retired_.end());
  retired_count_.store(retired_.size(), std::memory_order_release);
  return over;
}

template <class Vendor>
void Work<Vendor>::sweep() noexcept {
  if (!any_retired()) return;
  try {
    RetiredStreams over;
    const std::lock_guard lock(mutex_);
    over = take_what_is_over();
  } catch (...) {
    return;  // no memory: it is retried later
  }
}

template <class Vendor>
void Work<Vendor>::note_failure(Result result) noexcept {
  if (result == Result{}) return;
  Result none{};
  failed_.compare_exchange_strong(none, result, std::memory_order_acq_rel);
  if (Device::Vendor::Results::is_sticky(result)) device_.lose(result);
}

template <class Vendor>
auto Work<Vendor>::close() noexcept -> Result {
  const std::lock_guard lock(mutex_);
  left_behind_.clear();
  if constexpr (!Vendor::context_has_streams) {
    // Nobody will destroy the handles of these streams any more.
    for (const Stream* stream = first_; stream != nullptr; stream = stream->links.next) {
      if (stream->is_ours()) note_failure(Vendor::destroy(device_, stream->native()));
    }
  }
  retired_.clear();
  retired_count_.store(0, std::memory_order_release);
  return failure();
}

}  // namespace anyplace::backend
