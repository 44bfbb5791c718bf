// SPDX-License-Identifier: Apache-2.0
//
// The contract, entry by entry, and the one symbol that the plugin exports. <anyplace/backend/abi.h> says at each entry
// what the method of that name has to do. A method that isn't here is a capability that newname lacks.
//
// Nothing may be started or opened before it is needed: this object is made when the name is first used, and a process
// that only lists devices uses it too.
#include <anyplace/backend/device_backend.h>

#include <cstring>
#include <memory>
#include <vector>

#include "device.h"
#include "event.h"
#include "handle.h"
#include "stream.h"
#include "timeline.h"

namespace newname_backend {
namespace {

using anyplace::backend::Failure;
using anyplace::backend::from_handle;
using anyplace::backend::Host;
using anyplace::backend::to_handle;

constexpr std::int32_t devices = 2;

void fill(unsigned char* to, std::uint32_t value, std::uint32_t width, std::uint64_t count) noexcept {
  for (std::uint64_t i = 0; i < count * width; ++i) to[i] = static_cast<unsigned char>(value >> (8 * (i % width)));
}

class NewnameBackend final : public anyplace::backend::DeviceBackend {
 public:
  /// Open the vendor's library here, and refuse the plugin if it can't be used:
  ///   throw Failure(ANYPLACE_STATUS_LIBRARY_MISSING, "libnewname.so.1 isn't installed");
  explicit NewnameBackend(Host host) {
    for (std::int32_t i = 0; i < devices; ++i) devices_.push_back(std::make_unique<Device>(i, host));
  }

  bool shutdown(std::uint64_t timeout_ns) override {
    const Deadline deadline(timeout_ns);
    bool all = true;
    for (const auto& one : devices_) all = one->shut_down(deadline) && all;
    return all;
  }

  // -- Devices.
  std::int32_t device_count() override { return devices; }
  void device_properties(std::int32_t index, anyplace_device_properties& out) override {
    device(index).properties(out);
  }
  void device_memory(std::int32_t index, anyplace_memory_info& out) override {
    const Heap& heap = device(index).heap(ANYPLACE_MEMORY_DEVICE);
    out.free_bytes = heap.free_bytes();
    out.total_bytes = heap.total_bytes();
  }
  bool device_synchronize(std::int32_t index, std::uint64_t timeout_ns) override {
    return device(index).synchronize(Deadline(timeout_ns));
  }

  // -- Streams.
  anyplace_stream stream_create(std::int32_t index, const anyplace_stream_desc& desc) override {
    return make_handle(device(index).make_stream(desc));
  }
  anyplace_stream stream_default(std::int32_t index, const anyplace_stream_desc& desc) override {
    return make_handle(device(index).make_stream(desc));
  }
  void stream_destroy(anyplace_stream handle) override {
    stream(handle).close();
    drop_handle<Stream>(handle);
  }
  bool stream_query(anyplace_stream handle) override { return stream(handle).mark().reached(); }
  bool stream_synchronize(anyplace_stream handle, std::uint64_t timeout_ns) override {
    return stream(handle).mark().wait(Deadline(timeout_ns));
  }
  void stream_wait_event(anyplace_stream handle, anyplace_event waited) override {
    stream(handle).wait_for(event(waited).latest());
  }
  void stream_host_function(anyplace_stream handle, anyplace_host_function function, void* user) override {
    stream(handle).submit([function, user] { function(user, ANYPLACE_STATUS_OK); });
  }

  // -- Gates.
  anyplace_gate gate_create(std::int32_t) override { return make_handle(std::make_shared<Timeline>()); }
  void gate_open(anyplace_gate gate) override { object_of<Timeline>(gate)->advance(); }
  void gate_destroy(anyplace_gate gate) override { drop_handle<Timeline>(gate); }
  void stream_wait_gate(anyplace_stream handle, anyplace_gate gate) override {
    stream(handle).wait_for({object_of<Timeline>(gate), 1});
  }

  // -- Events.
  anyplace_event event_create(std::int32_t, const anyplace_event_desc& desc) override {
    return to_handle(new Event((desc.flags & ANYPLACE_EVENT_TIMING) != 0));
  }
  void event_destroy(anyplace_event handle) override { delete from_handle<Event>(handle); }
  void event_record(anyplace_event handle, anyplace_stream on) override { event(handle).record(stream(on)); }
  bool event_query(anyplace_event handle) override { return event(handle).latest().reached(); }
  bool event_synchronize(anyplace_event handle, std::uint64_t timeout_ns) override {
    return event(handle).latest().wait(Deadline(timeout_ns));
  }
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    return Event::elapsed_milliseconds(event(start), event(end));
  }

  // -- Memory.
  anyplace_address memory_allocate(std::int32_t index, std::uint32_t kind, std::uint64_t bytes) override {
    return device(index).heap(kind).allocate(bytes);
  }
  void memory_free(std::int32_t index, std::uint32_t kind, anyplace_address address) override {
    device(index).heap(kind).free(address);
  }

  // -- Copies and fills. Every address is in the host's memory here, so the kind of the copy makes no difference.
  void memory_copy(anyplace_stream handle, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t /*kind*/) override {
    void* const to = from_handle<void>(destination);
    const void* const from = from_handle<void>(source);
    stream(handle).submit([to, from, bytes] { std::memcpy(to, from, bytes); });
  }
  void memory_set(anyplace_stream handle, anyplace_address address, std::uint32_t value, std::uint32_t width,
                  std::uint64_t count) override {
    auto* const to = from_handle<unsigned char>(address);
    stream(handle).submit([to, value, width, count] { fill(to, value, width, count); });
  }

 private:
  Device& device(std::int32_t index) {
    if (index < 0 || index >= devices) throw Failure(ANYPLACE_STATUS_NO_SUCH_DEVICE, "newname has no such device");
    return *devices_[static_cast<std::size_t>(index)];
  }
  static Stream& stream(anyplace_stream handle) noexcept { return *object_of<Stream>(handle); }
  static Event& event(anyplace_event handle) noexcept { return *from_handle<Event>(handle); }

  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace
}  // namespace newname_backend

ANYPLACE_EXPORT_BACKEND(newname_backend::NewnameBackend, "newname", NEWNAME_BACKEND_VERSION, "Newname devices")
