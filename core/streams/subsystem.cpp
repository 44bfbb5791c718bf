// SPDX-License-Identifier: Apache-2.0
// The streams room's subsystem: what streams and events do when a device is made or lost and at exit, and how faults
// reach their stream.
#include "streams/subsystem.h"

#include <string>
#include <utility>

#include "runtime/backend.h"
#include "runtime/call.h"
#include "runtime/process.h"
#include "runtime/shortage.h"
#include "runtime/text.h"
#include "streams/cross_wait.h"
#include "streams/device_clock.h"
#include "streams/event_state.h"
#include "streams/helper_streams.h"
#include "streams/stream_state.h"

namespace anyplace::detail {
namespace {

constexpr std::size_t vendor_name_limit = 256;

/// Implements anyplace_host::stream_fault.
void host_stream_fault(void* context, std::uint64_t cookie, anyplace_status status, std::int64_t vendor_code,
                       const char* vendor_name, const char* text) {
  // The calling thread may hold locks of the backend, so the service thread destroys whatever this thread gives up.
  const CallbackScope scope;
  try {
    Message message = take_message();
    if (text != nullptr) {
      message = {vendor_code, std::string(bounded(vendor_name, vendor_name_limit)), std::string(bounded(text))};
    }
    std::string place;
    if (const Pin<StreamState> stream = streams().try_pin(cookie)) {
      place = stream->device->place;
    } else {
      place = backend_name(context);
    }
    record_fault(cookie, error_of(status, std::move(message), std::move(place), "asynchronous work"));
  } catch (...) {  // there is no memory for the Error
    if (status == ANYPLACE_STATUS_DEVICE_LOST) {
      if (const Pin<StreamState> stream = streams().try_pin(cookie)) mark_lost(*stream->device);
    }
    record_fault(cookie, no_memory_error());
  }
}

void offer(anyplace_host& host) noexcept { host.stream_fault = host_stream_fault; }

void device_made(DeviceState& device) {
  if (device.helper_streams == nullptr) device.helper_streams = make_helper_streams(device);
  if (device.clock == nullptr) device.clock = make_device_clock();
}

void close_fast_path_of(const DeviceState* device) noexcept {
  streams().bar(device);
  events().bar(device);
}

bool wait_for_device(DeviceState& device, std::uint64_t timeout_ns) { return synchronize(device, timeout_ns, "exit"); }

void give_back(DeviceState& device, Subsystem::Clock::time_point /*deadline*/) noexcept { device.clock->forget(); }

}  // namespace

constinit const Subsystem streams_subsystem{.offer = offer,
                                            .device_made = device_made,
                                            .device_lost = release_waiters_of,
                                            .close_fast_path = close_fast_path_of,
                                            .wait_for_device = wait_for_device,
                                            .settle = settle_cross_waits,
                                            .give_back = give_back};

}  // namespace anyplace::detail
