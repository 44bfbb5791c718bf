// SPDX-License-Identifier: Apache-2.0
//
// PrimaryContext: a device's primary context, which the CUDA runtime, and with it PyTorch and CuPy, uses too. It is
// retained at first use and never before. Its flags aren't changed, and what others do in it isn't touched.
//
// ContextScope: makes that context current for one call, unnoticed by the caller: if it is current already nothing is
// done, otherwise it is pushed and popped again. A thread without a context has none afterwards. The current context
// may be another library's and destroyed: a destroyed context stays current to the threads that had it, and fails all
// their calls with CONTEXT_IS_DESTROYED. So a result surely belongs to this device only if the device's own context was
// current.
#pragma once

#include <atomic>
#include <mutex>

#include "driver.h"

namespace anyplace::cuda {

/// Whether the result may only mean that the thread's current context, or the lack of one, doesn't suit the call. Then
/// the call wasn't made, and can be repeated with another context.
constexpr bool is_of_current_context(CUresult result) noexcept {
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// Whether `context` is current to the thread; true if that can't be told.
bool is_current(CUcontext context) noexcept;

class PrimaryContext {
 public:
  using Handle = CUcontext;

  explicit PrimaryContext(CUdevice device) noexcept : device_(device) {}
  PrimaryContext(const PrimaryContext&) = delete;  // it owns a reference
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  /// Gives the context and returns true once it was retained; before, null and false.
  bool read(CUcontext& context) const noexcept {
    context = context_.load(std::memory_order_acquire);
    return context != nullptr;
  }
  /// Retains the context unless that was done. `made` runs once, with the context current, before other threads see it;
  /// if it fails the context is released, and the next call tries again.
  template <class Made>
  CUresult begin(Made&& made);
  /// Whether this library or another one in the process uses the context.
  bool is_active() const noexcept;
  CUresult release() noexcept;

 private:
  const CUdevice device_;
  std::mutex mutex_;  // guards the retaining; CUDA is called under it
  std::atomic<CUcontext> context_{nullptr};
};

class ContextScope {
 public:
  /// With a null context it does nothing. It fails only if the context is destroyed or the process is exiting.
  explicit ContextScope(CUcontext context) noexcept {
    CUcontext current = nullptr;
    result_ = driver().CtxGetCurrent(&current);
    const bool pushes = result_ == CUDA_SUCCESS ? current != context : is_of_current_context(result_);
    if (pushes && context != nullptr) [[unlikely]]
      push(context);
  }
  enum class Always {};
  /// Pushes the context without a query that could fail, for a call that must be tried in any case.
  ContextScope(CUcontext context, Always) noexcept : result_(CUDA_SUCCESS) {
    if (context != nullptr) push(context);
  }
  ContextScope(const ContextScope&) = delete;  // it pops once
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    if (pushed_) [[unlikely]]
      pop();
  }

  CUresult result() const noexcept { return result_; }

 private:
  void push(CUcontext context) noexcept;
  void pop() noexcept;

  CUresult result_;
  bool pushed_ = false;
};

template <class Made>
CUresult PrimaryContext::begin(Made&& made) {
  const std::lock_guard lock(mutex_);
  CUcontext context = nullptr;
  if (read(context)) return CUDA_SUCCESS;
  CUresult result = driver().DevicePrimaryCtxRetain(&context, device_);
  if (result != CUDA_SUCCESS) return result;
  {
    const ContextScope scope(context);
    result = scope.result() == CUDA_SUCCESS ? made() : scope.result();
  }
  if (result == CUDA_SUCCESS) {
    context_.store(context, std::memory_order_release);
  } else {
    driver().DevicePrimaryCtxRelease(device_);
  }
  return result;
}

}  // namespace anyplace::cuda
