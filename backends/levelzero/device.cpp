// SPDX-License-Identifier: Apache-2.0
//
// A device's loss, its queues, and waiting for it. What it says of itself is in properties.cpp.
#include "device.h"

#include <chrono>

namespace anyplace::levelzero {

Device::Device(anyplace::backend::Host host, Context& context, ze_device_handle_t native, std::int32_t index)
    : host_(host), context_(context), native_(native), index_(index), facts_(read_facts(native, context)) {}

// ---- Queues --------------------------------------------------------------------------------------------------------

std::uint32_t Device::queue_group() const {
  if (!facts_.has_queue_group) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "this device has no queue that takes kernels and copies, so it can have no stream");
  }
  return facts_.queue_group;
}

std::uint32_t Device::next_queue() noexcept {
  return facts_.queues == 0 ? 0 : next_queue_.fetch_add(1, std::memory_order_relaxed) % facts_.queues;
}

// ---- Results and loss ----------------------------------------------------------------------------------------------

void Device::check_end(ze_result_t result, const char* call) {
  if (result == ZE_RESULT_SUCCESS || lost()) return;
  fail(result, call);
}

void Device::fail(ze_result_t result, const char* call) {
  if (is_loss(result)) lose(result);
  if (lost()) {
    fail_call(lost_.load(std::memory_order_relaxed), call, ANYPLACE_STATUS_DEVICE_LOST,
              "the device can't be used any more in this process");
  }
  fail_call(result, call);
}

void Device::fail_with(ze_result_t result, const char* call, Device& other) {
  if (is_loss(result) && &other != this) {
    other.check_health();
    check_health();
    if (other.lost() && !lost()) {
      fail_call(
          result, call, ANYPLACE_STATUS_BACKEND_FAILED,
          "not this device, but levelzero:" + std::to_string(other.index()) + " is lost, which has a part in this");
    }
  }
  fail(result, call);
}

void Device::require_other(const Device& other) {
  if (&other == this || !other.lost()) return;
  fail_call(other.loss(), "levelzero:" + std::to_string(other.index()), ANYPLACE_STATUS_BACKEND_FAILED,
            "that device, which has a part in this call, failed for good earlier in this process; this one didn't");
}

void Device::lose(ze_result_t result) noexcept {
  if (result == ZE_RESULT_SUCCESS) result = ZE_RESULT_ERROR_UNKNOWN;
  ze_result_t none = ZE_RESULT_SUCCESS;
  if (!lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel)) return;
  signals_.release_waits();
  host_functions_.wake();
  helper_.wake();
}

void Device::check_health() noexcept {
  if (lost()) return;
  const ze_result_t result = api().DeviceGetStatus(native_);
  if (is_loss(result)) lose(result);
}

// ---- Waiting and ending --------------------------------------------------------------------------------------------

bool Device::wait(Signal& signal, const Deadline& deadline) {
  // In between it is looked whether the device still lives: not every driver lets go who waits.
  constexpr std::chrono::nanoseconds slice = std::chrono::milliseconds(100);
  while (true) {
    if (signal.is_known_complete()) return true;
    require();
    const auto left = deadline.left(slice);
    if (left.count() == 0) return signal.is_complete();
    const ze_result_t result = api().EventHostSynchronize(signal.native(), static_cast<std::uint64_t>(left.count()));
    if (result == ZE_RESULT_SUCCESS) {
      // Of a lost device it may only have been let go.
      if (!lost()) signal.set_complete();
    } else if (result != ZE_RESULT_NOT_READY) {
      fail(result, "zeEventHostSynchronize");
    } else {
      check_health();
    }
  }
}

bool Device::synchronize(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  require();
  if (context_or_null() == nullptr) return true;  // nothing was ever submitted
  const PendingWork pending = work_.pending();
  for (const SignalRef& signal : pending.signals()) {
    if (!wait(*signal, deadline)) return false;
  }
  work_.sweep();
  retired_modules_.sweep();
  return true;
}

void Device::close(FirstFailure& failure) noexcept {
  if (context_or_null() == nullptr) return;
  // Of a lost device it is tried all the same, and nothing else is expected than that it fails.
  FirstFailure expected;
  FirstFailure& found = lost() ? expected : failure;
  retired_modules_.close(found);
  work_.close(found);
  virtual_memory_.close(found);
  memory_.close(found);
  signals_.close(found);
}

}  // namespace anyplace::levelzero
