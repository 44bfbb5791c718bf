// SPDX-License-Identifier: Apache-2.0
//
// Stream: a CUstream and the device that it is of. The null stream and those that CUDA names by small numbers mean the
// current context's, so for them the device's context is made current; all others say themselves whose they are.
//
// Recording, waiting and asking take no lock and allocate nothing.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"
#include "device.h"
#include "event.h"
#include "work.h"

namespace anyplace::cuda {

enum class StreamOwner : std::uint8_t {
  backend,  ///< made here, and destroyed here
  others,   ///< CUDA's or the user's: never destroyed
};

class Stream {
 public:
  Stream(Device& device, CUstream native, StreamOwner owner) noexcept;
  Stream(const Stream&) = delete;  // handles and Work point at it
  Stream& operator=(const Stream&) = delete;

  Device& device() const noexcept { return device_; }
  CUstream native() const noexcept { return native_; }
  /// Whether it is the device's legacy default stream.
  bool is_null() const noexcept { return needs_context_; }

  bool query() const {
    const CUresult result = call([this] { return driver().StreamQuery(native_); });
    if (result == CUDA_ERROR_NOT_READY) return false;
    device_.check(result, "cuStreamQuery");
    return true;
  }
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  void record(CUevent event) const {
    device_.check(call([&] { return driver().EventRecord(event, native_); }), "cuEventRecord");
  }
  void wait(const Event& event) const {
    const CUresult result = call([&] { return driver().StreamWaitEvent(native_, event.native(), 0); });
    if (result != CUDA_SUCCESS) [[unlikely]]
      device_.fail_with(result, "cuStreamWaitEvent", event.device());
  }
  /// Ends it: at once, and its work completes. Only a stream of ours takes the CUstream along. Silent for a lost
  /// device.
  void destroy();

  StreamLinks links;  ///< Work's, under its mutex

 private:
  /// Makes a call whose stream argument says whose context is meant.
  template <class Call>
  CUresult call(Call&& made) const {
    if (!needs_context_) [[likely]] {
      const CUresult result = made();
      // By the manual a stream's own context counts; should a driver want a current one, it gets it.
      if (result != CUDA_ERROR_INVALID_CONTEXT) [[likely]]
        return result;
    }
    const ContextScope scope(device_.context_or_null());
    return scope.result() == CUDA_SUCCESS ? made() : scope.result();
  }

  Device& device_;
  const CUstream native_;
  const StreamOwner owner_;
  const bool needs_context_;
};

/// Makes a stream of the device. Throws.
Stream* make_stream(Device& device, const anyplace_stream_desc& desc);
Stream* make_null_stream(Device& device);
/// Wraps a CUstream of the device's primary context. Throws INVALID_ARGUMENT for one that isn't.
Stream* adopt_stream(Device& device, std::uint64_t native);

}  // namespace anyplace::cuda
