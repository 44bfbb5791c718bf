// SPDX-License-Identifier: Apache-2.0
//
// Stream: a CUstream and its device. The null stream and the streams that CUDA names by small numbers belong to the
// current context, so the device's context is made current for them; all others know their context.
//
// Recording, waiting and querying take no lock and allocate nothing.
#pragma once

#include <atomic>

#include "anyplace/backend/kit/stream.h"
#include "device.h"

namespace anyplace::cuda {

using backend::StreamOwner;

class Stream : public backend::StreamBase<Device, Stream> {
 public:
  Stream(Device& device, CUstream native, StreamOwner owner) noexcept;

  /// Whether kernels must be launched with the device's context current: in the null stream, with drivers before CUDA
  /// 13, and in a stream where this driver once refused a launch without it.
  bool launches_in_context() const noexcept { return launches_in_context_.load(std::memory_order_relaxed); }
  void launch_in_context() const noexcept { launches_in_context_.store(true, std::memory_order_relaxed); }

  bool query() const {
    const CUresult result = is_null() ? CUDA_ERROR_INVALID_CONTEXT : driver().StreamQuery(native_);
    if (result == CUDA_SUCCESS) [[likely]]
      return true;
    return query_again(result);
  }
  /// Returns false when time ran out.
  bool synchronize(std::uint64_t timeout_ns) const;
  void record(CUevent event) const {
    const CUresult result = is_null() ? CUDA_ERROR_INVALID_CONTEXT : driver().EventRecord(event, native_);
    if (result != CUDA_SUCCESS) [[unlikely]]
      record_again(result, event);
  }
  void wait(const Event& event) const {
    const CUresult result =
        is_null() ? CUDA_ERROR_INVALID_CONTEXT : driver().StreamWaitEvent(native_, event.native(), 0);
    if (result != CUDA_SUCCESS) [[unlikely]]
      wait_again(result, event);
  }
  void wait(const Device::Gates::Gate& gate) const;

  // -- These throw.
  static Stream* make(Device& device, const anyplace_stream_desc& desc);
  static Stream* make_null(Device& device, const anyplace_stream_desc& desc);
  /// Wraps a CUstream of the device's primary context. Throws INVALID_ARGUMENT for one that isn't.
  static Stream* adopt(Device& device, std::uint64_t native, const anyplace_stream_desc& desc);

 private:
  // These repeat a call that failed. By the manual a stream's own context counts, except for the null stream. If a
  // driver wants a current context for others too, or another library's destroyed context is current, the call is
  // repeated in the device's context; other failures are thrown. They aren't inlined, so that the calls above stay
  // small.
  bool query_again(CUresult result) const;
  void record_again(CUresult result, CUevent event) const;
  void wait_again(CUresult result, const Event& event) const;

  /// Makes a call whose stream argument tells the context.
  template <class Call>
  CUresult call(Call&& made) const {
    if (!is_null()) {
      const CUresult result = made();
      if (!is_of_current_context(result)) return result;
    }
    return in_context(made);
  }
  template <class Call>
  CUresult in_context(Call&& made) const {
    const ContextScope scope(device_.handle());
    return scope.result() == CUDA_SUCCESS ? made() : scope.result();
  }

  mutable std::atomic<bool> launches_in_context_;
};

inline void EventCalls::record(const Stream& stream, CUevent event) { stream.record(event); }

}  // namespace anyplace::cuda
