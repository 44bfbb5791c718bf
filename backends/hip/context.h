// SPDX-License-Identifier: Apache-2.0
//
// PrimaryContext: a device's one context. CUDA has a handle for it that is retained and pushed, but HIP has deprecated
// that: each device has one context from hipInit on, hipSetDevice makes it current, and the device's number stands for
// it in calls. So this class only keeps whether the backend has begun to use it, and the handle for callers that ask
// for the native context.
//
// ContextScope: makes that device current for one call, unnoticed by the caller: if it is current already nothing is
// done, otherwise the previous device is made current again afterwards.
#pragma once

#include <atomic>
#include <mutex>

#include "driver.h"

namespace anyplace::hip {

class ContextScope {
 public:
  /// It fails only if the process is exiting.
  explicit ContextScope(hipDevice_t device) noexcept {
    result_ = driver().GetDevice(&before_);
    if (result_ == hipSuccess && before_ != device) [[unlikely]]
      change(device);
  }
  enum class Always {};
  /// Makes the device current even if the previous one can't be queried, for a call that must be tried in any case.
  ContextScope(hipDevice_t device, Always) noexcept {
    const bool known = driver().GetDevice(&before_) == hipSuccess;
    result_ = hipSuccess;
    if (known && before_ == device) return;
    change(device);
    changed_ = changed_ && known;
  }
  ContextScope(const ContextScope&) = delete;  // it restores once
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    if (changed_) [[unlikely]]
      restore();
  }

  hipError_t result() const noexcept { return result_; }

 private:
  void change(hipDevice_t device) noexcept;
  void restore() noexcept;

  hipError_t result_;
  hipDevice_t before_ = 0;
  bool changed_ = false;
};

class PrimaryContext {
 public:
  using Handle = hipDevice_t;

  explicit PrimaryContext(hipDevice_t device) noexcept : device_(device) {}
  PrimaryContext(const PrimaryContext&) = delete;  // one per device
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  /// Gives the device's number, and returns whether its use has begun.
  bool read(hipDevice_t& device) const noexcept {
    device = device_;
    return begun_.load(std::memory_order_acquire);
  }
  /// Runs `made` once, with the device current, before other threads see that its use has begun; if it fails, the next
  /// call tries again.
  template <class Made>
  hipError_t begin(Made&& made);
  /// HIP's handle, which never changes. Returns hipErrorNotSupported if the library has none any more.
  hipError_t native(hipCtx_t& handle) noexcept;
  hipError_t end() noexcept;

 private:
  const hipDevice_t device_;
  std::mutex mutex_;  // guards native_ and the one run of begin(); HIP is called under it
  std::atomic<bool> begun_{false};
  hipCtx_t native_ = nullptr;
};

template <class Made>
hipError_t PrimaryContext::begin(Made&& made) {
  const std::lock_guard lock(mutex_);
  if (begun_.load(std::memory_order_relaxed)) return hipSuccess;
  const ContextScope scope(device_);
  const hipError_t result = scope.result() == hipSuccess ? made() : scope.result();
  if (result == hipSuccess) begun_.store(true, std::memory_order_release);
  return result;
}

}  // namespace anyplace::hip
