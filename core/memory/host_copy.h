// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills within host memory in a stream's order. Devices with Capability::host_copy do them; for other
// devices the core does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "plugins/device_properties.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

inline std::byte* host_pointer(anyplace_address address) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

/// Runs `function`, which makes `copy` and throws nothing, in the stream's order: as a host function or, where the
/// device has none, on the calling thread once the stream's work is done.
template <class Function>
void run_on_host(StreamState& stream, const anyplace_copy_2d& copy, const char* operation, Function function) {
  if (has_capability(*stream.device, Capability::host_functions, operation)) {
    launch_host_function(stream, std::move(function), std::make_shared<const anyplace_copy_2d>(copy), operation);
    return;
  }
  static_cast<void>(wait_carefully(stream, ANYPLACE_FOREVER, operation));
  function();
}

/// Copies lines within host memory; copy.kind is HOST_TO_HOST. The caller has checked the sides.
void submit_host_copy(StreamState& stream, const anyplace_copy_2d& copy, const char* operation);

}  // namespace anyplace::detail
