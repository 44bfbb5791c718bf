// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <utility>

namespace anyplace::hip {

hipError_t PrimaryContext::native(hipCtx_t& handle) noexcept {
  const std::lock_guard lock(mutex_);
  if (!driver().DevicePrimaryCtxRetain || !driver().DevicePrimaryCtxRelease) return hipErrorNotSupported;
  const hipError_t result = native_ != nullptr ? hipSuccess : driver().DevicePrimaryCtxRetain(&native_, device_);
  if (result == hipSuccess) handle = native_;
  return result;
}

hipError_t PrimaryContext::end() noexcept {
  const std::lock_guard lock(mutex_);
  begun_.store(false, std::memory_order_release);
  const bool held = std::exchange(native_, nullptr) != nullptr;
  return held ? driver().DevicePrimaryCtxRelease(device_) : hipSuccess;
}

void ContextScope::change(hipDevice_t device) noexcept {
  result_ = driver().SetDevice(device);
  changed_ = result_ == hipSuccess;
}

void ContextScope::restore() noexcept { ignore(driver().SetDevice(before_)); }

}  // namespace anyplace::hip
