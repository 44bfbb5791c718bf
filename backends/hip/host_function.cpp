// SPDX-License-Identifier: Apache-2.0
#include "host_function.h"

#include <memory>

#include "anyplace/backend/kit/watcher.h"
#include "device.h"
#include "stream.h"

namespace anyplace::hip {

using anyplace::backend::HostCalls;

namespace {

void run(void* queued) noexcept { HostCalls::finish(queued, ANYPLACE_STATUS_OK); }

/// The same as HIP's older form calls it.
void called_back(hipStream_t, hipError_t result, void* queued) noexcept {
  HostCalls::finish(queued, result == hipSuccess ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_DEVICE_LOST);
}

}  // namespace

void HostFunctions::launch(const Stream& stream, anyplace_host_function function, void* user) {
  const DeviceScope scope(device_);
  device_.watcher().start();
  auto call = std::make_unique<HostCalls::Call>(HostCalls::Call{&calls_, function, user});
  const bool first = calls_.add(*call);
  // hipLaunchHostFunc came with HIP 5.3. The older form does the same here: later work of the stream waits for the
  // function, which may not call HIP.
  bool launches = static_cast<bool>(driver().LaunchHostFunc);
  hipError_t result = hipErrorNotSupported;
  if (launches) result = driver().LaunchHostFunc(stream.native(), &run, call.get());
  if (is_unimplemented(result) && driver().StreamAddCallback) {
    launches = false;
    result = driver().StreamAddCallback(stream.native(), &called_back, call.get(), 0);
  }
  HostCalls::Call* const queued = call.release();
  if (result != hipSuccess && calls_.take(*queued)) {
    const std::unique_ptr<HostCalls::Call> refused(queued);
    device_.fail(result, launches ? "hipLaunchHostFunc" : "hipStreamAddCallback");
  }
  if (first) device_.watcher().wake();
}

void HostFunctions::settle_if_lost(bool ask) noexcept {
  if (!any_pending()) return;
  if (ask ? device_.is_healthy() : !device_.lost()) return;
  calls_.settle([this] { device_.leave_loss(); });
}

}  // namespace anyplace::hip
