// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <memory>

#include "anyplace/backend/kit/deadline.h"
#include "anyplace/backend/kit/watcher.h"

namespace anyplace::hip {

using anyplace::backend::Deadline;
using anyplace::backend::poll_until;

namespace {

// The names of streams that stand for another one each time. HIP 6 and later know the second.
const auto per_thread = reinterpret_cast<hipStream_t>(2);
const auto legacy = reinterpret_cast<hipStream_t>(1);

bool is_null_stream(hipStream_t stream) { return stream == nullptr; }

/// Whose it is; -1 if HIP doesn't know the stream.
hipDevice_t device_of(Device& asking, hipStream_t stream) {
  hipDevice_t device = -1;
  const hipError_t result = driver().StreamGetDevice ? driver().StreamGetDevice(stream, &device) : hipErrorNotSupported;
  if (is_unimplemented(result) && driver().GetStreamDeviceId != nullptr) return driver().GetStreamDeviceId(stream);
  asking.check(result, "hipStreamGetDevice");
  return device;
}

}  // namespace

Stream::Stream(Device& device, hipStream_t native, StreamOwner owner) noexcept
    : device_(device), native_(native), owner_(owner), needs_context_(is_null_stream(native)) {
  device.work().add(*this);
}

bool Stream::synchronize(std::uint64_t timeout_ns) const {
  if (timeout_ns == ANYPLACE_FOREVER) {
    device_.check(call([this] { return driver().StreamSynchronize(native_); }), "hipStreamSynchronize");
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
    if (device_.work().remove(*this)) {
      device_.watcher().wake();
      return;
    }
  } catch (...) {
    if (is_ours() && !device_.lost()) ignore(driver().StreamDestroy(native_));
    throw;
  }
  if (!is_ours() || device_.lost()) return;
  device_.check_end(driver().StreamDestroy(native_), "hipStreamDestroy");
}

Stream* make_stream(Device& device, const anyplace_stream_desc& desc) {
  device.watcher().start();  // which destroys it, if work is pending at its end
  const DeviceScope scope(device);
  const unsigned flags = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? hipStreamDefault : hipStreamNonBlocking;
  hipStream_t native = nullptr;
  device.check(driver().StreamCreateWithPriority(&native, flags, desc.priority), "hipStreamCreateWithPriority");
  try {
    return new Stream(device, native, StreamOwner::backend);
  } catch (...) {
    ignore(driver().StreamDestroy(native));
    throw;
  }
}

Stream* make_null_stream(Device& device) {
  device.context();
  return new Stream(device, nullptr, StreamOwner::others);
}

Stream* adopt_stream(Device& device, std::uint64_t native) {
  auto* const stream = anyplace::backend::from_handle<ihipStream_t>(native);
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
                                                    : "the stream is of hip:" + std::to_string(of) +
                                                          ", not of hip:" + std::to_string(device.index()) +
                                                          "; wrap it for its own device");
  }
  return new Stream(device, stream, StreamOwner::others);
}

}  // namespace anyplace::hip
