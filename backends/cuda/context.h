// SPDX-License-Identifier: Apache-2.0
//
// PrimaryContext: a device's primary context, the one that the CUDA runtime, and with it PyTorch and CuPy, uses too.
// Retained at first use and never before; its flags stay as they are; what others do in it is none of our business.
//
// ContextScope: that context made current for the time of one call, without anything that the caller could notice: if
// it is current already nothing is done, else it is pushed and popped again. A thread without a context has none
// afterwards. What is current may be another library's, and of no use: a destroyed context stays current to the threads
// that had it, and fails their calls with CONTEXT_IS_DESTROYED, whatever those are about. So a result can be told to be
// this device's only where its own context was current.
#pragma once

#include <atomic>
#include <mutex>

#include "driver.h"

namespace anyplace::cuda {

/// Whether the result may say no more than that the context that is current to the thread, or that there is none, is of
/// no use for the call: the call wasn't made, and can be made again with another one current.
constexpr bool is_of_current_context(CUresult result) noexcept {
  return result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/// Whether it is `context` that is current to the thread. True where that can't be told.
bool is_current(CUcontext context) noexcept;

class PrimaryContext {
 public:
  using Handle = CUcontext;

  explicit PrimaryContext(CUdevice device) noexcept : device_(device) {}
  PrimaryContext(const PrimaryContext&) = delete;  // it owns a reference
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  /// Null, and false, until it was retained.
  bool read(CUcontext& context) const noexcept {
    context = context_.load(std::memory_order_acquire);
    return context != nullptr;
  }
  /// Retains it unless that was done. `made` is run once, with the context current, before others see it; if it doesn't
  /// return success the context is released, and the next call tries again.
  template <class Made>
  CUresult begin(Made&& made);
  /// Whether somebody in this process uses it, be it us or another library.
  bool is_active() const noexcept;
  CUresult release() noexcept;

 private:
  const CUdevice device_;
  std::mutex mutex_;  // guards the retaining; CUDA is called under it
  std::atomic<CUcontext> context_{nullptr};
};

class ContextScope {
 public:
  /// Null: nothing is made current. Fails only if the context is destroyed or the process is exiting.
  explicit ContextScope(CUcontext context) noexcept {
    CUcontext current = nullptr;
    result_ = driver().CtxGetCurrent(&current);
    const bool pushes = result_ == CUDA_SUCCESS ? current != context : is_of_current_context(result_);
    if (pushes && context != nullptr) [[unlikely]]
      push(context);
  }
  enum class Always {};
  /// The same, but pushed without a question that could fail: for what must be tried in any case.
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
