// SPDX-License-Identifier: Apache-2.0
//
// Stream: a hipStream_t and the device that it is of. The null stream is that of whichever device is current, so for it
// the device is made current; all others say themselves whose they are.
//
// Recording, waiting and asking take no lock and allocate nothing.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"
#include "device.h"
#include "event.h"
#include "work.h"

namespace anyplace::hip {

enum class StreamOwner : std::uint8_t {
  backend,  ///< made here, and destroyed here
  others,   ///< HIP's or the user's: never destroyed
};

class Stream {
 public:
  Stream(Device& device, hipStream_t native, StreamOwner owner) noexcept;
  Stream(const Stream&) = delete;  // handles and Work point at it
  Stream& operator=(const Stream&) = delete;

  Device& device() const noexcept { return device_; }
  hipStream_t native() const noexcept { return native_; }
  /// Whether it is the device's legacy default stream.
  bool is_null() const noexcept { return needs_context_; }
  /// Whether the hipStream_t was made here, and ends here.
  bool is_ours() const noexcept { return owner_ == StreamOwner::backend; }

  bool query() const {
    const hipError_t result = call([this] { return driver().StreamQuery(native_); });
    if (result == hipErrorNotReady) return false;
    device_.check(result, "hipStreamQuery");
    return true;
  }
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  void record(hipEvent_t event) const {
    device_.check(call([&] { return driver().EventRecord(event, native_); }), "hipEventRecord");
  }
  void wait(const Event& event) const {
    const hipError_t result = call([&] { return driver().StreamWaitEvent(native_, event.native(), 0); });
    if (result != hipSuccess) [[unlikely]]
      device_.fail_with(result, "hipStreamWaitEvent", event.device());
  }
  /// Ends it: at once, and its work completes. Only a stream of ours takes the hipStream_t along. Silent for a lost
  /// device.
  void destroy();

  StreamLinks links;  ///< Work's, under its mutex

 private:
  /// Makes a call whose stream argument says whose context is meant.
  template <class Call>
  hipError_t call(Call&& made) const {
    if (!needs_context_) [[likely]]
      return made();
    const ContextScope scope(device_.id());
    return scope.result() == hipSuccess ? made() : scope.result();
  }

  Device& device_;
  const hipStream_t native_;
  const StreamOwner owner_;
  const bool needs_context_;
};

inline void EventCalls::record(const Stream& stream, hipEvent_t event) { stream.record(event); }

/// Makes a stream of the device. Throws.
Stream* make_stream(Device& device, const anyplace_stream_desc& desc);
Stream* make_null_stream(Device& device);
/// Wraps a hipStream_t of the device. Throws INVALID_ARGUMENT for one that isn't.
Stream* adopt_stream(Device& device, std::uint64_t native);

}  // namespace anyplace::hip
