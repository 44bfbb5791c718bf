// SPDX-License-Identifier: Apache-2.0
#include "host_function.h"

#include <memory>

#include "anyplace/backend/kit/watcher.h"
#include "device.h"
#include "stream.h"

namespace anyplace::cuda {

using anyplace::backend::HostCalls;

namespace {

void run(void* queued) noexcept { HostCalls::finish(queued, ANYPLACE_STATUS_OK); }

}  // namespace

void HostFunctions::launch(const Stream& stream, anyplace_host_function function, void* user) {
  const DeviceScope scope(device_);
  device_.watcher().start();
  auto call = std::make_unique<HostCalls::Call>(HostCalls::Call{&calls_, function, user});
  const bool first = calls_.add(*call);
  const CUresult result = driver().LaunchHostFunc(stream.native(), &run, call.get());
  HostCalls::Call* const queued = call.release();
  if (result != CUDA_SUCCESS && calls_.take(*queued)) {
    const std::unique_ptr<HostCalls::Call> refused(queued);
    device_.fail(result, "cuLaunchHostFunc");
  }
  if (first) device_.watcher().wake();
}

void HostFunctions::settle_if_lost(bool ask) noexcept {
  if (!any_pending()) return;
  if (ask ? device_.is_healthy() : !device_.lost()) return;
  calls_.settle([this] { device_.leave_loss(); });
}

}  // namespace anyplace::cuda
