// SPDX-License-Identifier: Apache-2.0
//
// HostCalls: the host functions that are queued at a vendor which doesn't call them once the device failed. Each is
// called exactly once: by the vendor, or by settle().
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "../abi.h"

namespace anyplace::backend {

class HostCalls {
 public:
  /// What the vendor is given for a host function. It comes back with it, or not at all.
  struct Call {
    HostCalls* owner;
    anyplace_host_function function;
    void* user;
    Call* next = nullptr;
    Call* previous = nullptr;
    bool settled = false;  ///< called by settle(). Kept for ever: the vendor may still come with it
  };

  HostCalls() = default;
  HostCalls(const HostCalls&) = delete;  // what is queued points at it
  HostCalls& operator=(const HostCalls&) = delete;

  bool any_pending() const noexcept { return count_.load(std::memory_order_acquire) != 0; }

  /// True: it is the only one.
  bool add(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    call.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &call;
    last_ = &call;
    return count_.fetch_add(1, std::memory_order_acq_rel) == 0;
  }

  /// False if it was settled: then it isn't the caller's to call or to free.
  bool take(Call& call) noexcept {
    const std::lock_guard lock(mutex_);
    if (call.settled) return false;
    (call.previous != nullptr ? call.previous->next : first_) = call.next;
    (call.next != nullptr ? call.next->previous : last_) = call.previous;
    count_.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }

  /// For the vendor's own call, on its thread.
  static void finish(void* queued, anyplace_status status) noexcept {
    auto* const call = static_cast<Call*>(queued);
    if (!call->owner->take(*call)) return;
    const std::unique_ptr<Call> owned(call);
    call->function(call->user, status);
  }

  /// The device is lost: calls all that are queued with DEVICE_LOST, each after `leave_message`.
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
  Call* settled_ = nullptr;  ///< linked by next
};

}  // namespace anyplace::backend
