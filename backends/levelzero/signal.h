// SPDX-License-Identifier: Apache-2.0
//
// Signal: a ze_event that is signalled once and then waited for by anybody: by streams, by the host. Everything that
// has to be known as done has a fresh one, so recording an anyplace event again disturbs no earlier wait. It goes back
// to its pool, reset, when the last reference is gone. SignalRef is such a reference.
//
// Who holds one: the stream whose list signals it, until it is signalled; each stream that waits for it, until the
// wait is over; events, gates and the Waiter as long as they need it. So what is reset is in nobody's use.
//
// Each has 8 bytes of host memory beside it, for the timestamp that a list may write when it signals.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "driver.h"
#include "error.h"

namespace anyplace::levelzero {

class Device;
class SignalPool;

class Signal {
 public:
  Signal() = default;
  Signal(const Signal&) = delete;  // references point at it
  Signal& operator=(const Signal&) = delete;

  ze_event_handle_t native() const noexcept { return native_; }
  Device& device() const noexcept { return *device_; }
  std::uint64_t* timestamp() const noexcept { return timestamp_; }

  /// Asks the driver unless the answer is known. Throws what it says, DEVICE_LOST for one.
  bool is_complete();
  /// What can't be asked is not complete.
  bool is_complete_for_sure() noexcept;
  /// Seen to be signalled earlier. Asks nobody.
  bool is_known_complete() const noexcept { return complete_.load(std::memory_order_acquire); }
  void set_complete() noexcept { complete_.store(true, std::memory_order_release); }
  /// By the host. May be called from anywhere; a failure is tried to be mended. Twice is fine.
  ze_result_t signal_from_host() noexcept;

 private:
  friend class SignalPool;
  friend class SignalRef;

  Device* device_ = nullptr;
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

/// A device's signals, in event pools; there are as many as were needed at once.
class SignalPool {
 public:
  explicit SignalPool(Device& device) noexcept;
  SignalPool(const SignalPool&) = delete;  // it owns the events
  SignalPool& operator=(const SignalPool&) = delete;
  ~SignalPool();

  /// Not signalled.
  SignalRef take();
  /// The device is lost: what waits for its signals on other devices is let go.
  void release_waits() noexcept;
  /// Nothing is in use any more.
  void close(FirstFailure& failure) noexcept;

 private:
  friend class SignalRef;
  struct Page;

  void give(Signal& signal) noexcept;
  void add_page();
  static bool make_page(Page& page, ze_context_handle_t context, ze_result_t& result, const char*& call) noexcept;
  static void end_page(Page& page, ze_context_handle_t context, FirstFailure& failure) noexcept;

  Device& device_;
  std::mutex mutex_;  // guards idle_ and pages_; the last in the lock order; events are reset under it
  Signal* idle_ = nullptr;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace anyplace::levelzero
