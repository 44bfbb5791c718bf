// SPDX-License-Identifier: Apache-2.0
//
// Signal: a ze_event that is signalled once and that streams and the host can wait for. Each record or marker takes a
// fresh one, so recording an anyplace event again doesn't affect earlier waits. When its last reference (SignalRef) is
// gone, it is reset and goes back to its pool.
//
// References are held by the stream whose list signals it, until it is signalled; by each stream that waits for it,
// until the wait is over; and by events, gates and the Waiter as long as they need it. So nobody uses a signal that is
// reset.
//
// Each signal has 8 bytes of host memory, for the timestamp that a list may write when it signals.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/deadline.h"
#include "driver.h"
#include "error.h"

namespace anyplace::levelzero {

using anyplace::backend::Deadline;

class DeviceBase;
class SignalPool;

class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;  // references point at it
  Signal& operator=(const Signal&) = delete;

  ze_event_handle_t native() const noexcept { return native_; }
  DeviceBase& device() const noexcept { return *device_; }
  std::uint64_t* timestamp() const noexcept { return timestamp_; }

  /// Asks the driver unless the signal is known to be complete. Throws the driver's error, such as DEVICE_LOST.
  bool is_complete();
  /// Like is_complete(), but false if the driver can't be asked.
  bool is_complete_for_sure() noexcept;
  /// Returns false if time ran out.
  bool wait(const Deadline& deadline);
  /// Whether the signal was seen to be signalled earlier. It asks no driver.
  bool is_known_complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  void set_complete() noexcept { complete_.store(true, std::memory_order_release); }
  /// Signals from the host. May be called on any thread, and more than once. Tries again if it fails.
  ze_result_t signal_from_host() noexcept;

 private:
  friend class SignalPool;
  friend class SignalRef;

  DeviceBase* device_ = nullptr;
  SignalPool* pool_ = nullptr;
  ze_event_handle_t native_ = nullptr;
  std::uint64_t* timestamp_ = nullptr;
  Signal* next_idle_ = nullptr;
  std::atomic<std::uint32_t> references_{0};
  std::atomic<bool> complete_{false};
};

class SignalRef {
 public:
  SignalRef() = default;
  explicit SignalRef(Signal* signal) noexcept : signal_(signal) { acquire(); }
  SignalRef(const SignalRef& other) noexcept : signal_(other.signal_) { acquire(); }
  SignalRef(SignalRef&& other) noexcept : signal_(std::exchange(other.signal_, nullptr)) {}
  SignalRef& operator=(SignalRef other) noexcept {
    std::swap(signal_, other.signal_);
    return *this;
  }
  ~SignalRef() { release(); }

  Signal* operator->() const noexcept { return signal_; }
  Signal& operator*() const noexcept { return *signal_; }
  explicit operator bool() const noexcept { return signal_ != nullptr; }
  bool operator==(const SignalRef&) const = default;

 private:
  void acquire() const noexcept {
    if (signal_ != nullptr) signal_->references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept;

  Signal* signal_ = nullptr;
};

/// A device's signals, in event pools. The pool grows to the number of signals that were needed at the same time.
class SignalPool {
 public:
  explicit SignalPool(DeviceBase& device) noexcept;
  SignalPool(const SignalPool&) = delete;  // it owns the events
  SignalPool& operator=(const SignalPool&) = delete;
  ~SignalPool();

  /// Takes a signal that isn't signalled.
  SignalRef take();
  /// Called when the device is lost: signals everything, so that waits on other devices end.
  void release_waits() noexcept;
  /// Destroys all signals. Called when nothing uses them any more.
  void close(FirstFailure& failure) noexcept;

 private:
  friend class SignalRef;
  struct Page;

  void give(Signal& signal) noexcept;
  void add_page();
  static bool make_page(Page& page, ze_context_handle_t context, ze_result_t& result, const char*& call) noexcept;
  static void end_page(Page& page, ze_context_handle_t context, FirstFailure& failure) noexcept;

  DeviceBase& device_;
  std::mutex mutex_;  // guards idle_ and pages_; the last in the lock order; events are reset under it
  Signal* idle_ = nullptr;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace anyplace::levelzero
