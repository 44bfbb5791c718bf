// SPDX-License-Identifier: Apache-2.0
#include "context.h"

namespace anyplace::cuda {

bool is_current(CUcontext context) noexcept {
  CUcontext current = nullptr;
  const CUresult result = driver().CtxGetCurrent(&current);
  return result == CUDA_SUCCESS ? current == context : !is_of_current_context(result);
}

bool PrimaryContext::is_active() const noexcept {
  CUcontext context = nullptr;
  if (read(context)) return true;
  unsigned flags = 0;
  int active = 0;
  return driver().DevicePrimaryCtxGetState(device_, &flags, &active) == CUDA_SUCCESS && active != 0;
}

CUresult PrimaryContext::release() noexcept {
  const std::lock_guard lock(mutex_);
  const bool held = context_.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
  return held ? driver().DevicePrimaryCtxRelease(device_) : CUDA_SUCCESS;
}

void ContextScope::push(CUcontext context) noexcept {
  result_ = driver().CtxPushCurrent(context);
  pushed_ = result_ == CUDA_SUCCESS;
}

void ContextScope::pop() noexcept {
  CUcontext popped = nullptr;
  driver().CtxPopCurrent(&popped);
}

}  // namespace anyplace::cuda
