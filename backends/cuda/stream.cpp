// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <memory>

#include "anyplace/backend/kit/deadline.h"

namespace anyplace::cuda {

using anyplace::backend::Deadline;
using anyplace::backend::poll_until;

namespace {

/// From this driver on a launch is in the context of its stream, whichever is current (NVIDIA/cccl issue 6986).
constexpr int first_launch_without_context = 13000;

/// CUDA's two names for the legacy default stream of the current context.
bool is_null_stream(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

}  // namespace

Stream::Stream(Device& device, CUstream native, StreamOwner owner) noexcept
    : device_(device),
      native_(native),
      owner_(owner),
      needs_context_(is_null_stream(native)),
      launches_in_context_(needs_context_ || driver_version() < first_launch_without_context) {
  device.work().add(*this);
}

bool Stream::query_again(CUresult result) const {
  if (is_of_current_context(result)) result = in_context([this] { return driver().StreamQuery(native_); });
  if (result == CUDA_ERROR_NOT_READY) return false;
  device_.check(result, "cuStreamQuery");
  return true;
}

void Stream::record_again(CUresult result, CUevent event) const {
  if (is_of_current_context(result)) result = in_context([&] { return driver().EventRecord(event, native_); });
  device_.check(result, "cuEventRecord");
}

void Stream::wait_again(CUresult result, const Event& event) const {
  if (is_of_current_context(result)) {
    result = in_context([&] { return driver().StreamWaitEvent(native_, event.native(), 0); });
  }
  if (result != CUDA_SUCCESS) device_.fail_with(result, "cuStreamWaitEvent", event.device());
}

bool Stream::synchronize(std::uint64_t timeout_ns) const {
  if (timeout_ns == ANYPLACE_FOREVER) {
    device_.check(call([this] { return driver().StreamSynchronize(native_); }), "cuStreamSynchronize");
    return true;
  }
  const Deadline deadline(timeout_ns);
  // A marker in the null stream would order the other streams.
  if (timeout_ns == 0 || is_null()) return poll_until(deadline, [this] { return query(); });
  // What is submitted from now on isn't waited for: a stream that is always busy may never be found idle.
  const std::shared_ptr<Marker> marker = device_.work().mark(*this);
  return marker == nullptr || poll_until(deadline, [&] { return marker->is_over(); });
}

void Stream::destroy() {
  const std::unique_ptr<Stream> ended(this);
  try {
    device_.work().remove(*this);
  } catch (...) {
    if (owner_ == StreamOwner::backend && !device_.lost()) call([this] { return driver().StreamDestroy(native_); });
    throw;
  }
  if (owner_ != StreamOwner::backend || device_.lost()) return;
  device_.check_end(call([this] { return driver().StreamDestroy(native_); }), "cuStreamDestroy");
}

Stream* make_stream(Device& device, const anyplace_stream_desc& desc) {
  const DeviceScope scope(device);
  const unsigned flags = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CUstream native = nullptr;
  device.check(driver().StreamCreateWithPriority(&native, flags, desc.priority), "cuStreamCreateWithPriority");
  try {
    return new Stream(device, native, StreamOwner::backend);
  } catch (...) {
    driver().StreamDestroy(native);
    throw;
  }
}

Stream* make_null_stream(Device& device) {
  device.context();
  return new Stream(device, CU_STREAM_LEGACY, StreamOwner::others);
}

Stream* adopt_stream(Device& device, std::uint64_t native) {
  auto* const stream = anyplace::backend::from_handle<CUstream_st>(native);
  if (stream == CU_STREAM_PER_THREAD) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "CU_STREAM_PER_THREAD is another stream in each thread, so it can't be one stream here; pass the handle of "
           "a stream that was created, or use Device::per_thread_stream");
  }
  const DeviceScope scope(device);
  CUcontext of = nullptr;
  device.check(driver().StreamGetCtx(stream, &of), "cuStreamGetCtx");
  if (of != device.context()) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "the stream is of another context than the primary one of cuda:" + std::to_string(device.index()) +
               ", which Device::native_context gives and which the CUDA runtime uses; make it there, or wrap it for "
               "its own device");
  }
  return new Stream(device, stream, StreamOwner::others);
}

}  // namespace anyplace::cuda
