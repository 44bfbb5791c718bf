// SPDX-License-Identifier: Apache-2.0
//
// Which devices there are, and which is the calling thread's current one.
#include <numeric>

#include "entries.h"
#include "places.h"
#include "report.h"

namespace anyplace_paddle {
namespace {

/// The number of the place that set_device named, as CUDA keeps it: for each thread, 0 until set.
thread_local int current = 0;

C_Status initialize() noexcept {
  return C_SUCCESS;
}  // InitPlugin has done it: a failure there only refuses the plug-in

/// What is pending and what is left goes with anyplace's own exit. Paddle ends the process for any other answer.
C_Status finalize() noexcept { return C_SUCCESS; }

/// Paddle's numbers are ours. Nothing is made on the device before its first stream or allocation.
C_Status init_device(const C_Device device) noexcept {
  return guarded("init_device", device, [&] { (void)device_of(device); });
}
C_Status deinit_device(const C_Device device) noexcept {
  return guarded_release("deinit_device", device, [&] { (void)device_of(device); });
}

C_Status set_device(const C_Device device) noexcept {
  return guarded("set_device", device, [&] {
    (void)device_of(device);
    current = device->id;
  });
}

C_Status get_device(const C_Device device) noexcept {
  device->id = current;
  return C_SUCCESS;
}

C_Status get_device_count(size_t* count) noexcept {
  return guarded("get_device_count", nullptr, [&] { *count = places().size(); });
}

C_Status get_device_list(size_t* devices) noexcept {
  return guarded("get_device_list", nullptr, [&] { std::iota(devices, devices + places().size(), std::size_t{0}); });
}

C_Status synchronize_device(const C_Device device) noexcept {
  return guarded("synchronize_device", device, [&] { device_of(device).synchronize(); });
}

}  // namespace

void fill_devices(C_DeviceInterface& table) {
  table.initialize = initialize;
  table.finalize = finalize;
  table.init_device = init_device;
  table.deinit_device = deinit_device;
  table.set_device = set_device;
  table.get_device = get_device;
  table.get_device_count = get_device_count;
  table.get_device_list = get_device_list;
  table.synchronize_device = synchronize_device;
}

}  // namespace anyplace_paddle
