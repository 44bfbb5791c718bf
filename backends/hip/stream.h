// SPDX-License-Identifier: Apache-2.0
//
// Stream: a hipStream_t and its device. The null stream belongs to the current device, so the device is made current
// for it; all others know their device.
//
// Recording, waiting and querying take no lock and allocate nothing.
#pragma once

#include "anyplace/backend/kit/stream.h"
#include "device.h"

namespace anyplace::hip {

using backend::StreamOwner;

class Stream : public backend::StreamBase<Device, Stream> {
 public:
  Stream(Device& device, hipStream_t native, StreamOwner owner) noexcept;

  bool query() const {
    const hipError_t result = call([this] { return driver().StreamQuery(native_); });
    if (result == hipErrorNotReady) return false;
    device_.check(result, "hipStreamQuery");
    return true;
  }
  /// Returns false when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  void record(hipEvent_t event) const {
    device_.check(call([&] { return driver().EventRecord(event, native_); }), "hipEventRecord");
  }
  void wait(const Event& event) const {
    const hipError_t result = call([&] { return driver().StreamWaitEvent(native_, event.native(), 0); });
    if (result != hipSuccess) [[unlikely]]
      device_.fail_with(result, "hipStreamWaitEvent", event.device());
  }
  void wait(const Device::Gates::Gate& gate) const;

  // -- These throw.
  static Stream* make(Device& device, const anyplace_stream_desc& desc);
  static Stream* make_null(Device& device, const anyplace_stream_desc& desc);
  /// Wraps a hipStream_t of the device. Throws INVALID_ARGUMENT for one that isn't.
  static Stream* adopt(Device& device, std::uint64_t native, const anyplace_stream_desc& desc);

 private:
  /// Makes a call whose stream argument tells the context.
  template <class Call>
  hipError_t call(Call&& made) const {
    if (!is_null()) [[likely]]
      return made();
    const ContextScope scope(device_.id());
    return scope.result() == hipSuccess ? made() : scope.result();
  }
};

inline void EventCalls::record(const Stream& stream, hipEvent_t event) { stream.record(event); }

}  // namespace anyplace::hip
