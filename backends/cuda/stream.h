// SPDX-License-Identifier: Apache-2.0
//
// Stream: a CUstream and the device that it is of. The null stream and those that CUDA names by small numbers mean the
// current context's, so for them the device's context is made current; all others say themselves whose they are.
//
// Recording, waiting and asking take no lock and allocate nothing.
#pragma once

#include <atomic>
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

  /// Whether kernels are launched with the device's context current: the null stream's, all by the rules of drivers
  /// before CUDA 13, and those of a stream for which this driver refused to do without, once.
  bool launches_in_context() const noexcept { return launches_in_context_.load(std::memory_order_relaxed); }
  void launch_in_context() const noexcept { launches_in_context_.store(true, std::memory_order_relaxed); }

  bool query() const {
    const CUresult result = needs_context_ ? CUDA_ERROR_INVALID_CONTEXT : driver().StreamQuery(native_);
    if (result == CUDA_SUCCESS) [[likely]]
      return true;
    return query_again(result);
  }
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  void record(CUevent event) const {
    const CUresult result = needs_context_ ? CUDA_ERROR_INVALID_CONTEXT : driver().EventRecord(event, native_);
    if (result != CUDA_SUCCESS) [[unlikely]]
      record_again(result, event);
  }
  void wait(const Event& event) const {
    const CUresult result =
        needs_context_ ? CUDA_ERROR_INVALID_CONTEXT : driver().StreamWaitEvent(native_, event.native(), 0);
    if (result != CUDA_SUCCESS) [[unlikely]]
      wait_again(result, event);
  }
  /// Ends it: at once, and its work completes. Only a stream of ours takes the CUstream along. Silent for a lost
  /// device.
  void destroy();

  StreamLinks links;  ///< Work's, under its mutex

 private:
  // After is_of_current_context: by the manual a stream's own context counts, but for the null stream; should a driver
  // want a current one for others too, or find another library's destroyed one current, it gets ours. Any other result
  // is thrown. Apart, so that the calls above have nothing to keep for this.
  bool query_again(CUresult result) const;
  void record_again(CUresult result, CUevent event) const;
  void wait_again(CUresult result, const Event& event) const;

  /// Makes a call whose stream argument says whose context is meant.
  template <class Call>
  CUresult call(Call&& made) const {
    if (!needs_context_) {
      const CUresult result = made();
      if (!is_of_current_context(result)) return result;
    }
    return in_context(made);
  }
  template <class Call>
  CUresult in_context(Call&& made) const {
    const ContextScope scope(device_.context_or_null());
    return scope.result() == CUDA_SUCCESS ? made() : scope.result();
  }

  Device& device_;
  const CUstream native_;
  const StreamOwner owner_;
  const bool needs_context_;
  mutable std::atomic<bool> launches_in_context_;
};

inline void EventCalls::record(const Stream& stream, CUevent event) { stream.record(event); }

/// Makes a stream of the device. Throws.
Stream* make_stream(Device& device, const anyplace_stream_desc& desc);
Stream* make_null_stream(Device& device);
/// Wraps a CUstream of the device's primary context. Throws INVALID_ARGUMENT for one that isn't.
Stream* adopt_stream(Device& device, std::uint64_t native);

}  // namespace anyplace::cuda
