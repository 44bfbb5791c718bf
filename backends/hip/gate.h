// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of signal memory that streams wait on (hipStreamWaitValue64). Two things differ from CUDA. A stream can
// wait only on signal memory, which is allocated one word at a time, where CUDA takes any pinned memory. And the
// comparison isn't cyclic, so a word has 64 bits, which never wrap.
#pragma once

#include "anyplace/backend/kit/gates.h"
#include "device_base.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/gates.h for HIP.
struct GateCalls : Calls {
  using Number = std::uint64_t;
  static constexpr std::size_t words = 1;
  /// hipExtMallocWithFlags takes only this size for signal memory.
  static constexpr std::size_t distance = 8;

  static Called<hipError_t> allocate(void*& host, anyplace_address& device) noexcept {
    const hipError_t result = driver().ExtMallocWithFlags(&host, distance, malloc_signal_memory);
    device = backend::to_handle(host);  // host and device use the same address
    return {result, "hipExtMallocWithFlags"};
  }
  static hipError_t free(void* host) noexcept { return driver().Free(host); }
};

/// Whether the device and the library have waits on memory.
inline bool has_gates(const DeviceBase& device) {
  return driver().StreamWaitValue64 && driver().ExtMallocWithFlags &&
         device.attribute(attribute_stream_wait_value) != 0;
}

}  // namespace anyplace::hip
