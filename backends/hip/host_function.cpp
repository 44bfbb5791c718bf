// SPDX-License-Identifier: Apache-2.0
#include "host_function.h"

#include <memory>
#include <utility>

#include "device.h"
#include "stream.h"
#include "watcher.h"

namespace anyplace::hip {

void HostFunctions::launch(const Stream& stream, anyplace_host_function function, void* user) {
  const DeviceScope scope(device_);
  device_.watcher().start();
  auto call = std::make_unique<Call>(Call{this, function, user});
  const bool first = add(*call);
  // hipLaunchHostFunc came with HIP 5.3. The older form does the same here: later work of the stream waits for the
  // function, which may not call HIP.
  bool launches = static_cast<bool>(driver().LaunchHostFunc);
  hipError_t result = hipErrorNotSupported;
  if (launches) result = driver().LaunchHostFunc(stream.native(), &HostFunctions::run, call.get());
  if (is_unimplemented(result) && driver().StreamAddCallback) {
    launches = false;
    result = driver().StreamAddCallback(stream.native(), &HostFunctions::called_back, call.get(), 0);
  }
  Call* const queued = call.release();
  if (result != hipSuccess && take(*queued)) {
    const std::unique_ptr<Call> refused(queued);
    device_.fail(result, launches ? "hipLaunchHostFunc" : "hipStreamAddCallback");
  }
  if (first) device_.watcher().wake();
}

void HostFunctions::finish(void* queued, anyplace_status status) noexcept {
  auto* const call = static_cast<Call*>(queued);
  if (!call->owner->take(*call)) return;
  const std::unique_ptr<Call> owned(call);
  call->function(call->user, status);
}

void HostFunctions::run(void* queued) noexcept { finish(queued, ANYPLACE_STATUS_OK); }

void HostFunctions::called_back(hipStream_t, hipError_t result, void* queued) noexcept {
  finish(queued, result == hipSuccess ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_DEVICE_LOST);
}

bool HostFunctions::add(Call& call) noexcept {
  const std::lock_guard lock(mutex_);
  call.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &call;
  last_ = &call;
  return pending_count_.fetch_add(1, std::memory_order_acq_rel) == 0;
}

bool HostFunctions::take(Call& call) noexcept {
  const std::lock_guard lock(mutex_);
  if (call.settled) return false;
  (call.previous != nullptr ? call.previous->next : first_) = call.next;
  (call.next != nullptr ? call.next->previous : last_) = call.previous;
  pending_count_.fetch_sub(1, std::memory_order_acq_rel);
  return true;
}

void HostFunctions::settle_if_lost(bool ask) noexcept {
  if (!any_pending()) return;
  if (ask ? device_.is_healthy() : !device_.lost()) return;
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
    pending_count_.store(0, std::memory_order_release);
  }
  for (; call != end; call = call->next) {
    device_.leave_loss();
    call->function(call->user, ANYPLACE_STATUS_DEVICE_LOST);
  }
}

}  // namespace anyplace::hip
