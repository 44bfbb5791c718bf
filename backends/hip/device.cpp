// SPDX-License-Identifier: Apache-2.0
//
// A device's context, its loss, and waiting for all of it. What it says of itself is in properties.cpp.
#include "device.h"

#include "anyplace/backend/kit/deadline.h"
#include "anyplace/backend/kit/watcher.h"

namespace anyplace::hip {

using anyplace::backend::Deadline;
using anyplace::backend::poll_until;

namespace {

/// What begin_context's result is shown as.
constexpr const char* context_call = "hipStreamCreateWithPriority";

}  // namespace

Device::Device(anyplace::backend::Host host, Watcher& watcher, hipDevice_t id, std::int32_t index)
    : host_(host), watcher_(watcher), id_(id), index_(index), context_(id) {}

// ---- The context ---------------------------------------------------------------------------------------------------

hipError_t Device::begin_context() {
  return context_.begin([this] {
    hipStream_t stream = nullptr;
    const hipError_t result = driver().StreamCreateWithPriority(&stream, hipStreamNonBlocking, 0);
    internal_stream_.store(stream, std::memory_order_release);
    return result;
  });
}

hipDevice_t Device::make_context() {
  if (lost()) fail(lost_.load(std::memory_order_relaxed), "the device failed earlier");
  check(begin_context(), context_call);
  return id_;
}

hipDevice_t Device::context_of(Device& peer) {
  if (&peer == this || lost()) return context();
  if (peer.lost()) {
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, "hip:" + std::to_string(peer.index()) +
                                               ", which has a part in this call, failed for good earlier in this "
                                               "process; this device didn't");
  }
  if (!peer.has_begun()) {
    const hipError_t result = peer.begin_context();
    if (is_sticky(result)) peer.lose(result);
    if (result != hipSuccess) fail_with(result, context_call, peer);
  }
  return peer.id();
}

hipCtx_t Device::native_context() {
  context();
  hipCtx_t handle = nullptr;
  check(context_.native(handle), "hipDevicePrimaryCtxRetain");
  return handle;
}

// ---- Results and loss ----------------------------------------------------------------------------------------------

void Device::check_end(hipError_t result, const char* call) {
  if (result == hipSuccess || result == hipErrorDeinitialized || lost()) return;
  fail(result, call);
}

void Device::fail(hipError_t result, const char* call) {
  if (is_sticky(result)) lose(result);
  if (lost()) {
    const hipError_t first = lost_.load(std::memory_order_relaxed);
    fail_call(first, call, ANYPLACE_STATUS_DEVICE_LOST,
              "the device can't be used any more in this process: there is no way back from this");
  }
  fail_call(result, call);
}

void Device::fail_with(hipError_t result, const char* call, Device& other) {
  if (&other == this || !is_sticky(result) || other.is_healthy()) fail(result, call);
  if (lost() || !is_healthy()) fail(result, call);
  fail_call(result, call, ANYPLACE_STATUS_BACKEND_FAILED,
            "not this device, but hip:" + std::to_string(other.index()) + " is lost, which has a part in this");
}

void Device::lose(hipError_t result) noexcept {
  hipError_t none = hipSuccess;
  if (lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel)) watcher_.wake();
}

void Device::leave_loss() const noexcept {
  const hipError_t result = lost_.load(std::memory_order_acquire);
  try {
    host_.leave_message(static_cast<std::int64_t>(result), name_of(result).c_str(), text_of(result).c_str());
  } catch (...) {  // the status alone has to do
  }
}

bool Device::is_healthy() noexcept {
  if (lost()) return false;
  if (!has_begun()) return true;
  const ContextScope scope(id_);
  const hipError_t result = scope.result() == hipSuccess ? driver().StreamQuery(internal_stream()) : scope.result();
  if (is_sticky(result)) lose(result);
  return !lost();
}

// ---- Waiting and ending --------------------------------------------------------------------------------------------

bool Device::synchronize(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  if (deadline.forever()) {
    const DeviceScope scope(*this);
    check(driver().DeviceSynchronize(), "hipDeviceSynchronize");
  } else {
    if (lost()) context();
    if (!has_begun()) return true;  // nothing was ever submitted
    if (timeout_ns == 0) return work_.is_idle();
    const PendingWork pending = work_.pending();
    if (!poll_until(deadline, [&] { return pending.is_over(); })) return false;
  }
  retired_modules_.sweep();
  return true;
}

void Device::close() {
  if (!has_begun()) return;
  if (lost()) {
    check(retired_modules_.failure(), "hipModuleUnload");
    return check(work_.failure(), "hipStreamDestroy");
  }
  hipError_t first = hipSuccess;
  const char* failed = "";
  const auto note = [&](hipError_t result, const char* call) {
    if (first != hipSuccess || result == hipSuccess || result == hipErrorDeinitialized) return;
    first = result;
    failed = call;
  };
  {
    const ContextScope scope(id_, ContextScope::Always{});
    note(scope.result(), "hipSetDevice");
    note(retired_modules_.close(), "hipModuleUnload");
    note(gates_.close(), "hipFree");
    note(memory_.close(), "hipMemPoolDestroy");
    note(work_.close(), "hipStreamDestroy");
    note(event_pool_.close(), "hipEventDestroy");
    note(driver().StreamDestroy(internal_stream()), "hipStreamDestroy");
  }
  note(context_.end(), "hipDevicePrimaryCtxRelease");
  check(first, failed);
}

}  // namespace anyplace::hip
