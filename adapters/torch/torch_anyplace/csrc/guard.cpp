// SPDX-License-Identifier: Apache-2.0
//
// DeviceGuardImpl: what torch's device guards, streams and events come down to.
#include <anyplace/anyplace.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

#include "device_memory.h"
#include "errors.h"
#include "streams.h"

namespace anyplace_torch {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

const anyplace::Event& event_of(void* event) { return *static_cast<const anyplace::Event*>(event); }

/// Any thread may use it: it has no state of its own.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }

  // -- Devices.
  Device exchangeDevice(Device device) const override {
    place(device.index());
    return Device(kType, exchange_index(device.index() < 0 ? current_index() : device.index()));
  }
  Device getDevice() const override { return Device(kType, current_index()); }
  void setDevice(Device device) const override { exchangeDevice(device); }
  void uncheckedSetDevice(Device device) const noexcept override { exchange_index(device.index()); }
  DeviceIndex deviceCount() const noexcept override { return place_count(); }
  c10::DeviceCapability getDeviceCapability(Device) const override {
    return {};
  }  // every type: operators run on the CPU
  void synchronizeDevice(DeviceIndex index) const override {
    call([&] { place(index).device.synchronize(); });
  }

  // -- Streams.
  Stream getStream(Device device) const override {
    const DeviceIndex index = device.index() < 0 ? current_index() : device.index();
    return stream_of(index, current_view(index));
  }
  Stream getDefaultStream(Device device) const override { return Stream(Stream::DEFAULT, device); }
  Stream getStreamFromGlobalPool(Device device, bool is_high_priority) const override {
    return stream_from_pool(device.index(), is_high_priority ? highest_priority(device.index()) : 0);
  }
  Stream getNewStream(Device device, int priority) const override {
    return stream_from_pool(device.index() < 0 ? current_index() : device.index(), priority);
  }
  Stream exchangeStream(Stream stream) const override { return exchange_current(stream); }
  void* getStreamNativeHandle(const Stream stream) const override {
    return call([&] { return reinterpret_cast<void*>(view_of(stream).native_handle()); });
  }
  bool queryStream(const Stream& stream) const override {
    return call([&] { return view_of(stream).query(); });
  }
  void synchronizeStream(const Stream& stream) const override {
    call([&] { view_of(stream).synchronize(); });
  }

  // -- Events. torch's handle is an anyplace::Event, made at its first record.
  void destroyEvent(void* event, DeviceIndex) const noexcept override { delete static_cast<anyplace::Event*>(event); }
  void record(void** event, const Stream& stream, DeviceIndex index, c10::EventFlag flag) const override {
    TORCH_CHECK(index == -1 || index == stream.device_index(), "an event of anyplace:", static_cast<int>(index),
                " can't be recorded on a stream of ", stream.device());
    call([&] {
      if (*event == nullptr) {
        const bool timing = flag == c10::EventFlag::BACKEND_DEFAULT;
        *event = new anyplace::Event(place(stream.device_index()).device, {.timing = timing});
      }
      event_of(*event).record(view_of(stream));
    });
  }
  void block(void* event, const Stream& stream) const override {
    if (event == nullptr) return;  // never recorded
    call([&] { view_of(stream).wait_event(event_of(event)); });
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || call([&] { return event_of(event).query(); });
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    call([&] { event_of(event).synchronize(); });
  }
  double elapsedTime(void* start, void* end, DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr,
                "both events must be recorded before the time between them is asked for");
    return call([&] { return anyplace::elapsed_time(event_of(start), event_of(end)); });
  }

  void recordDataPtrOnStream(const c10::DataPtr& memory, const Stream& stream) const override {
    record_on_stream(memory, stream);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace
}  // namespace anyplace_torch
