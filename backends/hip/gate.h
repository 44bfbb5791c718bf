// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of signal memory that streams wait on (hipStreamWaitValue64). Two differences from CUDA: a stream can
// wait for signal memory alone, which is allocated a word at a time, where CUDA takes any pinned memory; and the
// comparison isn't cyclic, so a word has 64 bits, which never wrap.
#pragma once

#include "anyplace/backend/kit/gates.h"
#include "device_base.h"

namespace anyplace::hip {

/// HIP's calls, as anyplace/backend/kit/gates.h asks for them.
struct GateCalls : Calls {
  using Number = std::uint64_t;
  static constexpr std::size_t words = 1;
  /// The one size that hipExtMallocWithFlags takes for signal memory.
  static constexpr std::size_t distance = 8;

  static Called<hipError_t> allocate(void*& host, anyplace_address& device) noexcept {
    const hipError_t result = driver().ExtMallocWithFlags(&host, distance, malloc_signal_memory);
    device = backend::to_handle(host);  // the same for host and device
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
