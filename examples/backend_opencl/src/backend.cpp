// SPDX-License-Identifier: Apache-2.0
//
// OpenClBackend: anyplace's contract, entry by entry, on the classes beside this file; and the plugin's one symbol.
//
// Left null, because OpenCL has nothing for them: 2D copies of shared virtual memory, registering host memory, peer
// access and peer copies (every device has a context of its own), events between processes, reset. The core does
// without.
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/backend/device_backend.h"
#include "device.h"
#include "event.h"
#include "module.h"
#include "watcher.h"

namespace opencl_backend {

using anyplace::backend::from_handle;
using anyplace::backend::Host;
using anyplace::backend::to_handle;

class OpenClBackend final : public anyplace::backend::DeviceBackend {
 public:
  explicit OpenClBackend(Host host) : host_(host) {
    load_api();
    cl_uint platforms = 0;
    const cl_int code = api().GetPlatformIDs(0, nullptr, &platforms);
    if (code != CL_SUCCESS || platforms == 0) {
      refuse(ANYPLACE_STATUS_NO_DRIVER,
             "the OpenCL loader finds no driver. Install one (Debian, for CPUs: apt-get install pocl-opencl-icd) that "
             "puts a file into /etc/OpenCL/vendors.",
             code);
    }
  }

  bool shutdown(uint64_t timeout_ns) override {
    const Deadline deadline(timeout_ns);
    for (const auto& device : devices()) {
      if (!device->lost() && !device->synchronize(deadline)) return false;
    }
    Watcher::instance().stop();
    for (const auto& device : devices()) device->close();
    return true;
  }

  // -- Devices.
  int32_t device_count() override { return static_cast<int32_t>(devices().size()); }
  void device_properties(int32_t device, anyplace_device_properties& out) override { at(device).properties(out); }
  uint64_t device_native(int32_t device, uint32_t kind) override {
    return kind == ANYPLACE_NATIVE_CONTEXT ? to_handle(at(device).context().get()) : to_handle(at(device).id());
  }
  void device_memory(int32_t device, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;  // OpenCL doesn't tell what others use
    out.total_bytes = at(device).memory().total();
  }
  bool device_synchronize(int32_t device, uint64_t timeout_ns) override {
    return at(device).synchronize(Deadline(timeout_ns));
  }

  // -- Streams.
  anyplace_stream stream_create(int32_t device, const anyplace_stream_desc& desc) override {
    const bool blocking = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0;
    return to_handle(&at(device).make_stream(desc, blocking ? StreamKind::blocking : StreamKind::independent));
  }
  anyplace_stream stream_default(int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(&at(device).make_stream(desc, StreamKind::null));
  }
  anyplace_stream stream_from_native(int32_t device, uint64_t native, const anyplace_stream_desc& desc) override {
    return to_handle(&at(device).adopt_stream(from_handle<_cl_command_queue>(native), desc));
  }
  uint64_t stream_native(anyplace_stream stream) override { return to_handle(stream_at(stream).native()); }
  void stream_destroy(anyplace_stream stream) override { stream_at(stream).device().retire(stream_at(stream)); }
  bool stream_query(anyplace_stream stream) override { return stream_at(stream).query(); }
  bool stream_synchronize(anyplace_stream stream, uint64_t timeout_ns) override {
    return stream_at(stream).wait_until_over(stream_at(stream).last(), Deadline(timeout_ns));
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    stream_at(stream).wait_for(event_at(event).latest());
  }
  void stream_host_function(anyplace_stream stream, anyplace_host_function function, void* user) override {
    stream_at(stream).run_on_host(function, user);
  }

  // -- Gates: user events.
  anyplace_gate gate_create(int32_t device) override {
    return to_handle(new EventRef(make_user_event(at(device).context())));
  }
  void gate_open(anyplace_gate gate) override { open(gate_at(gate)); }
  void gate_destroy(anyplace_gate gate) override { delete from_handle<EventRef>(gate); }
  void stream_wait_gate(anyplace_stream stream, anyplace_gate gate) override {
    stream_at(stream).wait_for(gate_at(gate));
  }

  // -- Events.
  anyplace_event event_create(int32_t device, const anyplace_event_desc& desc) override {
    if ((desc.flags & ANYPLACE_EVENT_INTERPROCESS) != 0) {
      refuse(ANYPLACE_STATUS_UNSUPPORTED, "OpenCL has no events between processes");
    }
    return to_handle(new Event(at(device), (desc.flags & ANYPLACE_EVENT_TIMING) != 0));
  }
  void event_destroy(anyplace_event event) override { delete from_handle<Event>(event); }
  void event_record(anyplace_event event, anyplace_stream stream) override {
    event_at(event).record(stream_at(stream));
  }
  bool event_query(anyplace_event event) override { return event_at(event).query(); }
  bool event_synchronize(anyplace_event event, uint64_t timeout_ns) override {
    return event_at(event).synchronize(Deadline(timeout_ns));
  }
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    const Event& first = event_at(start);
    const Event& last = event_at(end);
    int64_t nanoseconds = last.nanoseconds() - first.nanoseconds();
    // Each device has a clock of its own.
    if (&first.device() != &last.device()) nanoseconds += last.device().clock_offset() - first.device().clock_offset();
    return static_cast<double>(nanoseconds) * 1e-6;
  }
  uint64_t event_native(anyplace_event event) override { return to_handle(event_at(event).native()); }
  uint64_t event_timestamp(anyplace_event event) override {
    return static_cast<uint64_t>(event_at(event).nanoseconds());
  }
  void device_clock(int32_t device, anyplace_clock& out) override {
    const Device::ClockReading reading = at(device).read_clock();
    out.host = static_cast<uint64_t>(reading.host);
    out.device = static_cast<uint64_t>(reading.device);
  }

  // -- Memory.
  anyplace_address memory_allocate(int32_t device, uint32_t kind, uint64_t bytes) override {
    Device& on = at(device);
    if (kind == ANYPLACE_MEMORY_PINNED) return allocate_host(bytes);
    const bool managed = kind == ANYPLACE_MEMORY_MANAGED;
    if (managed ? !on.has_managed_memory() : kind != ANYPLACE_MEMORY_DEVICE) {
      refuse(ANYPLACE_STATUS_UNSUPPORTED,
             "the driver has no fine-grained shared virtual memory, which managed memory is");
    }
    return on.memory().allocate(on.context(), managed, bytes);
  }
  void memory_free(int32_t device, uint32_t kind, anyplace_address address) override {
    if (kind == ANYPLACE_MEMORY_PINNED) return free_host(address);
    Device& on = at(device);
    if (!on.lost()) on.memory().free(on.context(), address);
  }

  // -- Copies and fills. All addresses are of one space, so the direction says nothing.
  void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source, uint64_t bytes,
                   uint32_t /*kind*/) override {
    stream_at(stream).submit("clEnqueueSVMMemcpy", [&](cl_command_queue queue, cl_event* event) {
      return api().EnqueueSVMMemcpy(queue, CL_FALSE, from_handle<void>(destination), from_handle<void>(source), bytes,
                                    0, nullptr, event);
    });
  }
  void memory_set(anyplace_stream stream, anyplace_address address, uint32_t value, uint32_t width,
                  uint64_t count) override {
    const auto byte = static_cast<uint8_t>(value);
    const auto half = static_cast<uint16_t>(value);
    const void* const pattern = width == 1 ? &byte : width == 2 ? static_cast<const void*>(&half) : &value;
    stream_at(stream).submit("clEnqueueSVMMemFill", [&](cl_command_queue queue, cl_event* event) {
      return api().EnqueueSVMMemFill(queue, from_handle<void>(address), pattern, width, count * width, 0, nullptr,
                                     event);
    });
  }

  // -- Kernels.
  anyplace_module module_load(int32_t device, const anyplace_module_desc& desc) override {
    return to_handle(new Module(at(device), desc));
  }
  void module_unload(anyplace_module module) override {
    Module* const unloaded = from_handle<Module>(module);
    if (!unloaded->device().lost()) delete unloaded;
  }
  anyplace_kernel module_kernel(anyplace_module module, const char* name) override {
    return to_handle(&from_handle<Module>(module)->kernel(name));
  }
  uint64_t module_native(anyplace_module module) override { return to_handle(from_handle<Module>(module)->native()); }
  uint64_t kernel_native(anyplace_kernel kernel) override { return to_handle(from_handle<Kernel>(kernel)->native()); }
  void kernel_attributes(anyplace_kernel kernel, anyplace_kernel_attributes& out) override {
    from_handle<Kernel>(kernel)->attributes(out);
  }
  void kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch& launch) override {
    from_handle<Kernel>(kernel)->launch(stream_at(stream), launch);
  }

 private:
  /// Found at the first call, not when the plugin is loaded: drivers start threads at it.
  std::vector<std::unique_ptr<Device>>& devices() {
    find_once_.run([this] { devices_ = find_devices(host_); });
    return devices_;
  }
  Device& at(int32_t device) { return *devices().at(static_cast<std::size_t>(device)); }
  static Stream& stream_at(anyplace_stream stream) { return *from_handle<Stream>(stream); }
  static Event& event_at(anyplace_event event) { return *from_handle<Event>(event); }
  static EventRef& gate_at(anyplace_gate gate) { return *from_handle<EventRef>(gate); }

  const Host host_;
  Once find_once_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace opencl_backend

ANYPLACE_EXPORT_BACKEND(opencl_backend::OpenClBackend, "opencl", OPENCL_BACKEND_VERSION,
                        "OpenCL 2.0 and later, with shared virtual memory")
