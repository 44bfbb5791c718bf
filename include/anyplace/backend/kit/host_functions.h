// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the host functions in a device's streams, for a vendor that calls them in the stream's order but drops
// them once the context failed; then a Watcher calls them.
//
// Invariant: each is called exactly once, by the vendor or by the Watcher. Neither calls the vendor from inside the
// function.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Device, Scope          DeviceBase and DeviceScope of device_base.h, or with the same members
//   Called<Result> launch(native stream, HostCalls::Call*) noexcept
//                          has HostCalls::finish(call, status) called, on whatever thread, in the stream's order
#pragma once

#include <memory>

#include "host_calls.h"
#include "results.h"
#include "watcher.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Vendor>
class HostFunctions {
 public:
  using Device = typename Vendor::Device;

  /// Host functions of `device`, which outlives it.
  explicit HostFunctions(Device& device) noexcept : device_(device) {}
  HostFunctions(const HostFunctions&) = delete;  // what is queued points at it
  HostFunctions& operator=(const HostFunctions&) = delete;

  /// Does what the entry stream_host_function does. Throws what the vendor reports; then the function isn't called.
  void launch(typename Device::Stream stream, anyplace_host_function function, void* user) {
    const typename Vendor::Scope scope(device_);
    device_.watcher().start();
    auto call = std::make_unique<HostCalls::Call>(HostCalls::Call{&calls_, function, user});
    const bool first = calls_.add(*call);
    const auto made = Vendor::launch(stream, call.get());
    HostCalls::Call* const queued = call.release();
    if (made.result != decltype(made.result){} && calls_.take(*queued)) {
      const std::unique_ptr<HostCalls::Call> refused(queued);
      device_.fail(made);
    }
    if (first) device_.watcher().wake();
  }
  /// Called on the Watcher's thread. With `ask` it also asks the driver whether the device is lost.
  void settle_if_lost(bool ask) noexcept {
    if (!any_pending()) return;
    if (ask ? device_.is_healthy() : !device_.lost()) return;
    calls_.settle([this] { device_.leave_loss(); });
  }
  /// Whether any function is still to be called.
  bool any_pending() const noexcept { return calls_.any_pending(); }

 private:
  Device& device_;
  HostCalls calls_;
};

}  // namespace anyplace::backend
