// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

namespace anyplace::cuda {
namespace {

/// From this driver version on a launch uses its stream's context, whichever is current (NVIDIA/cccl issue 6986).
constexpr int first_launch_without_context = 13000;

/// CUDA's two names for the legacy default stream of the current context.
bool is_null_stream(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

}  // namespace

Stream::Stream(Device& device, CUstream native, StreamOwner owner) noexcept
    : StreamBase(device, native, owner, is_null_stream(native)),
      launches_in_context_(is_null() || driver_version() < first_launch_without_context) {}

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
  if (timeout_ns != ANYPLACE_FOREVER) return device_.work().wait_for(*this, timeout_ns);
  device_.check(call([this] { return driver().StreamSynchronize(native_); }), "cuStreamSynchronize");
  return true;
}

void Stream::wait(const Device::Gates::Gate& gate) const {
  const DeviceScope scope(device_);
  device_.check(driver().StreamWaitValue32(native_, gate.address, gate.number, CU_STREAM_WAIT_VALUE_GEQ),
                "cuStreamWaitValue32");
}

Stream* Stream::make(Device& device, const anyplace_stream_desc& desc) {
  const DeviceScope scope(device);
  const unsigned flags = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
  CUstream native = nullptr;
  device.check(driver().StreamCreateWithPriority(&native, flags, desc.priority), "cuStreamCreateWithPriority");
  return take_over(device, native);
}

Stream* Stream::make_null(Device& device, const anyplace_stream_desc&) {
  device.context();
  return new Stream(device, CU_STREAM_LEGACY, StreamOwner::others);
}

Stream* Stream::adopt(Device& device, std::uint64_t native, const anyplace_stream_desc&) {
  auto* const stream = backend::from_handle<CUstream_st>(native);
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
           "the stream is of another context than the primary one of " + device.place() +
               ", which Device::native_context gives and which the CUDA runtime uses; make it there, or wrap it for "
               "its own device");
  }
  return new Stream(device, stream, StreamOwner::others);
}

}  // namespace anyplace::cuda
