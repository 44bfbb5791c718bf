// SPDX-License-Identifier: Apache-2.0
#include "device_base.h"

namespace anyplace::levelzero {

DeviceBase::DeviceBase(anyplace::backend::Host host, Context& context, ze_device_handle_t native, std::int32_t index)
    : host_(host), context_(context), native_(native), index_(index), facts_(read_facts(native, context)) {}

void DeviceBase::fail(ze_result_t result, const char* call) {
  if (Results::is_sticky(result)) lose(result);
  if (lost()) {
    Results::fail(lost_.load(std::memory_order_relaxed), call, ANYPLACE_STATUS_DEVICE_LOST,
                  "the device can't be used any more in this process");
  }
  Results::fail(result, call);
}

void DeviceBase::fail_with(ze_result_t result, const char* call, DeviceBase& other) {
  if (Results::is_sticky(result) && &other != this) {
    other.check_health();
    check_health();
    if (other.lost() && !lost()) {
      Results::fail(result, call, ANYPLACE_STATUS_BACKEND_FAILED,
                    "not this device, but " + other.place() + " is lost, which has a part in this");
    }
  }
  fail(result, call);
}

void DeviceBase::require_other(const DeviceBase& other) {
  if (&other == this || !other.lost()) return;
  Results::fail(other.loss(), other.place().c_str(), ANYPLACE_STATUS_BACKEND_FAILED,
                "that device, which has a part in this call, failed for good earlier in this process; this one didn't");
}

void DeviceBase::lose(ze_result_t result) noexcept {
  if (result == ZE_RESULT_SUCCESS) result = ZE_RESULT_ERROR_UNKNOWN;
  ze_result_t none = ZE_RESULT_SUCCESS;
  if (!lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel)) return;
  on_loss();
}

void DeviceBase::check_health() noexcept {
  if (lost()) return;
  const ze_result_t result = api().DeviceGetStatus(native_);
  if (Results::is_sticky(result)) lose(result);
}

}  // namespace anyplace::levelzero
