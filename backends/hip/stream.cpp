// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

namespace anyplace::hip {
namespace {

// These handles mean the calling thread's own stream and the current device's null stream. HIP 6 and later know the
// second.
const auto per_thread = reinterpret_cast<hipStream_t>(2);
const auto legacy = reinterpret_cast<hipStream_t>(1);

bool is_null_stream(hipStream_t stream) { return stream == nullptr; }

/// The stream's device; -1 if HIP doesn't know the stream.
hipDevice_t device_of(Device& asking, hipStream_t stream) {
  hipDevice_t device = -1;
  const hipError_t result = driver().StreamGetDevice ? driver().StreamGetDevice(stream, &device) : hipErrorNotSupported;
  if (is_unimplemented(result) && driver().GetStreamDeviceId != nullptr) return driver().GetStreamDeviceId(stream);
  asking.check(result, "hipStreamGetDevice");
  return device;
}

}  // namespace

Stream::Stream(Device& device, hipStream_t native, StreamOwner owner) noexcept
    : StreamBase(device, native, owner, is_null_stream(native)) {}

bool Stream::synchronize(std::uint64_t timeout_ns) const {
  if (timeout_ns != ANYPLACE_FOREVER) return device_.work().wait_for(*this, timeout_ns);
  device_.check(call([this] { return driver().StreamSynchronize(native_); }), "hipStreamSynchronize");
  return true;
}

void Stream::wait(const Device::Gates::Gate& gate) const {
  constexpr std::uint64_t all_bits = ~std::uint64_t{0};
  const DeviceScope scope(device_);
  device_.check(driver().StreamWaitValue64(native_, gate.word, gate.number, wait_value_greater_or_equal, all_bits),
                "hipStreamWaitValue64");
}

Stream* Stream::make(Device& device, const anyplace_stream_desc& desc) {
  device.watcher().start();  // destroys the stream later if its work is pending at its end
  const DeviceScope scope(device);
  const unsigned flags = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? hipStreamDefault : hipStreamNonBlocking;
  hipStream_t native = nullptr;
  device.check(driver().StreamCreateWithPriority(&native, flags, desc.priority), "hipStreamCreateWithPriority");
  return take_over(device, native);
}

Stream* Stream::make_null(Device& device, const anyplace_stream_desc&) {
  device.context();
  return new Stream(device, nullptr, StreamOwner::others);
}

Stream* Stream::adopt(Device& device, std::uint64_t native, const anyplace_stream_desc&) {
  auto* const stream = backend::from_handle<ihipStream_t>(native);
  if (stream == per_thread) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "hipStreamPerThread is another stream in each thread, so it can't be one stream here; pass the handle of a "
           "stream that was created, or use Device::per_thread_stream");
  }
  const DeviceScope scope(device);
  if (is_null_stream(stream) || stream == legacy) return new Stream(device, nullptr, StreamOwner::others);
  const hipDevice_t of = device_of(device, stream);
  if (of != device.id()) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, of < 0 ? "HIP knows no such stream"
                                                    : "the stream is of hip:" + std::to_string(of) + ", not of " +
                                                          device.place() + "; wrap it for its own device");
  }
  return new Stream(device, stream, StreamOwner::others);
}

}  // namespace anyplace::hip
