// SPDX-License-Identifier: Apache-2.0
//
// A device's context, its loss, and waiting for all of it. What it says of itself is in properties.cpp.
#include "device.h"

#include "anyplace/backend/kit/deadline.h"
#include "anyplace/backend/kit/watcher.h"

namespace anyplace::cuda {

using anyplace::backend::Deadline;
using anyplace::backend::poll_until;

namespace {

/// What begin_context's result is shown as.
constexpr const char* context_call = "cuDevicePrimaryCtxRetain";

}  // namespace

Device::Device(anyplace::backend::Host host, Watcher& watcher, CUdevice id, std::int32_t index)
    : host_(host), watcher_(watcher), id_(id), index_(index), context_(id) {}

// ---- The context ---------------------------------------------------------------------------------------------------

CUresult Device::begin_context() {
  return context_.retain([this] {
    CUstream stream = nullptr;
    const CUresult result = driver().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    internal_stream_.store(stream, std::memory_order_release);
    return result;
  });
}

CUcontext Device::make_context() {
  if (lost()) fail(lost_.load(std::memory_order_relaxed), "the device failed earlier");
  check(begin_context(), context_call);
  return context_.get();
}

CUcontext Device::context_of(Device& peer) {
  if (&peer == this || lost()) return context();
  if (peer.lost()) {
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, "cuda:" + std::to_string(peer.index()) +
                                               ", which has a part in this call, failed for good earlier in this "
                                               "process; this device didn't");
  }
  if (peer.context_or_null() == nullptr) {
    const CUresult result = peer.begin_context();
    if (is_sticky(result)) peer.lose(result);
    if (result != CUDA_SUCCESS) fail_with(result, context_call, peer);
  }
  return peer.context_or_null();
}

// ---- Results and loss ----------------------------------------------------------------------------------------------

void Device::check_end(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED || lost()) return;
  fail(result, call);
}

void Device::lose_if_ours(CUresult result) noexcept {
  CUcontext const made = context_.get();
  const bool others = made == nullptr ? is_of_current_context(result) : !is_current(made) && is_healthy();
  if (!others) lose(result);
}

void Device::fail(CUresult result, const char* call) {
  if (is_sticky(result)) lose_if_ours(result);
  if (lost()) {
    const CUresult first = lost_.load(std::memory_order_relaxed);
    fail_call(first, call, ANYPLACE_STATUS_DEVICE_LOST,
              "the device can't be used any more in this process: CUDA has no way back from this");
  }
  if (!is_sticky(result)) fail_call(result, call);
  fail_call(result, call, ANYPLACE_STATUS_BACKEND_FAILED,
            "not this device, but another context, which is current to this thread, failed or was destroyed: whoever "
            "left it there has to pop it (cuCtxPopCurrent)");
}

void Device::fail_with(CUresult result, const char* call, Device& other) {
  if (&other == this || !is_sticky(result) || other.is_healthy()) fail(result, call);
  if (lost() || !is_healthy()) fail(result, call);
  fail_call(result, call, ANYPLACE_STATUS_BACKEND_FAILED,
            "not this device, but cuda:" + std::to_string(other.index()) + " is lost, which has a part in this");
}

void Device::lose(CUresult result) noexcept {
  CUresult none = CUDA_SUCCESS;
  if (lost_.compare_exchange_strong(none, result, std::memory_order_acq_rel)) watcher_.wake();
}

void Device::leave_loss() const noexcept {
  const CUresult result = lost_.load(std::memory_order_acquire);
  try {
    host_.leave_message(static_cast<std::int64_t>(result), name_of(result).c_str(), text_of(result).c_str());
  } catch (...) {  // the status alone has to do
  }
}

bool Device::is_healthy() noexcept {
  if (lost()) return false;
  const CUcontext made = context_.get();
  if (made == nullptr) return true;
  const ContextScope scope(made);
  const CUresult result = scope.result() == CUDA_SUCCESS ? driver().StreamQuery(internal_stream()) : scope.result();
  if (is_sticky(result)) lose(result);
  return !lost();
}

// ---- Waiting and ending --------------------------------------------------------------------------------------------

bool Device::synchronize(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  if (deadline.forever()) {
    const DeviceScope scope(*this);
    check(driver().CtxSynchronize(), "cuCtxSynchronize");
  } else {
    if (lost()) context();
    if (context_or_null() == nullptr) return true;  // nothing was ever submitted
    if (timeout_ns == 0) return work_.is_idle();
    const PendingWork pending = work_.pending();
    if (!poll_until(deadline, [&] { return pending.is_over(); })) return false;
  }
  retired_modules_.sweep();
  return true;
}

void Device::close() {
  const CUcontext made = context_.get();
  if (made == nullptr) return;
  if (lost()) return check(retired_modules_.failure(), "cuModuleUnload");
  CUresult first = CUDA_SUCCESS;
  const char* failed = "";
  const auto note = [&](CUresult result, const char* call) {
    if (first != CUDA_SUCCESS || result == CUDA_SUCCESS || result == CUDA_ERROR_DEINITIALIZED) return;
    first = result;
    failed = call;
  };
  {
    const ContextScope scope(made, ContextScope::Always{});
    note(scope.result(), "cuCtxPushCurrent");
    note(retired_modules_.close(), "cuModuleUnload");
    note(gates_.close(), "cuMemFreeHost");
    note(memory_.close(), "cuMemPoolDestroy");
    work_.close();
    note(event_pool_.close(), "cuEventDestroy");
    note(driver().StreamDestroy(internal_stream()), "cuStreamDestroy");
  }
  note(context_.release(), "cuDevicePrimaryCtxRelease");
  check(first, failed);
}

}  // namespace anyplace::cuda
