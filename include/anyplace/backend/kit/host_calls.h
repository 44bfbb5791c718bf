// SPDX-License-Identifier: Apache-2.0
//
// HostCalls: the queued host functions of a vendor that drops them once the device has failed. Each is called exactly
// once: by the vendor, or by settle().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "../abi.h"

namespace anyplace::backend {

/// The host functions that a vendor has and hasn't called yet, so that those of a lost device can be called all the
/// same. Thread-safe.
class HostCalls {
 public:
  /// The data that the vendor gets for a host function and passes to finish(), unless it drops the call.
  struct Call {
    HostCalls* owner;                 ///< the list that it is in
    anyplace_host_function function;  ///< what is called
    void* user;                       ///< its first argument
    Call* next = nullptr;             ///< the one that was added after it
    Call* previous = nullptr;         ///< the one that was added before it
    bool settled = false;  ///< settle() called it; never freed, because the vendor may still pass it to finish()
  };

  HostCalls() = default;
  HostCalls(const HostCalls&) = delete;  // what is queued points at it
  HostCalls& operator=(const HostCalls&) = delete;

  /// Whether any call is still to be made.
  bool any_pending() const noexcept { return count_.load(std::memory_order_acquire) != 0; }

  /// Returns true if it is the only pending one.
  bool add(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    call.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &call;
    last_ = &call;
    return count_.fetch_add(1, std::memory_order_acq_rel) == 0;
  }

  /// Returns false if settle() took it: then the caller must neither call nor free it.
  bool take(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    if (call.settled) return false;
    (call.previous != nullptr ? call.previous->next : first_) = call.next;
    (call.next != nullptr ? call.next->previous : last_) = call.previous;
    count_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  /// The function that the vendor calls, on its thread.
  static void finish(void* queued, anyplace_status status) noexcept {
    auto* const call = static_cast<Call*>(queued);
    if (!call->owner->take(*call)) return;
    const std::unique_ptr<Call> owned(call);
    call->function(call->user, status);
  }

  /// Called when the device is lost: calls all pending functions with DEVICE_LOST, each after `leave_message`.
  template <class LeaveMessage>
  void settle(LeaveMessage&& leave_message) noexcept {
    Call* call = nullptr;
    Call* end = nullptr;
    {
      const std::lock_guard lock(mutex_);
      end = settled_;
      call = std::exchange(first_, nullptr);
      if (call == nullptr) return;
      for (Call* each = call; each != nullptr; each = each->next) each->settled = true;
      std::exchange(last_, nullptr)->next = settled_;
      settled_ = call;
      count_.store(0, std::memory_order_release);
    }
    for (; call != end; call = call->next) {
      leave_message();
      call->function(call->user, ANYPLACE_STATUS_DEVICE_LOST);
    }
  }

 private:
  std::atomic<unsigned> count_{0};
  std::mutex mutex_;  // guards all below and what the calls hold; a leaf
  Call* first_ = nullptr;
  Call* last_ = nullptr;
  Call* settled_ = nullptr;  ///< a list, linked by next
};

}  // namespace anyplace::backend
