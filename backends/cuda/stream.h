// SPDX-License-Identifier: Apache-2.0
//
// Stream: a CUstream and the device that it is of. The null stream and those that CUDA names by small numbers mean the
// current context's, so for them the device's context is made current; all others say themselves whose they are.
//
// Recording, waiting and asking take no lock and allocate nothing.
#pragma once

#include <atomic>

#include "anyplace/backend/kit/stream.h"
#include "device.h"

namespace anyplace::cuda {

using backend::StreamOwner;

class Stream : public backend::StreamBase<Device, Stream> {
 public:
  Stream(Device& device, CUstream native, StreamOwner owner) noexcept;

  /// Whether kernels are launched with the device's context current: the null stream's, all by the rules of drivers
  /// before CUDA 13, and those of a stream for which this driver refused to do without, once.
  bool launches_in_context() const noexcept { return launches_in_context_.load(std::memory_order_relaxed); }
  void launch_in_context() const noexcept { launches_in_context_.store(true, std::memory_order_relaxed); }

  bool query() const {
    const CUresult result = is_null() ? CUDA_ERROR_INVALID_CONTEXT : driver().StreamQuery(native_);
    if (result == CUDA_SUCCESS) [[likely]]
      return true;
    return query_again(result);
  }
  /// False when time ran out.
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
  static Stream* make_null(Device& device);
  /// Wraps a CUstream of the device's primary context. Throws INVALID_ARGUMENT for one that isn't.
  static Stream* adopt(Device& device, std::uint64_t native);

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
