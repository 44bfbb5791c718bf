// SPDX-License-Identifier: Apache-2.0
//
// This file implements the plugin's entries in terms of the engine. It turns handles into objects and back, and checks
// what the core doesn't.
//
// Handles are pointers to objects of this backend, which the core passes only while they live (abi.h).
#include <anyplace/backend/device_backend.h>
#include <anyplace/backend/kit/sampled.h>
#include <anyplace/version.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "config.h"
#include "copy.h"
#include "director.h"
#include "door.h"
#include "elf_image.h"
#include "engine.h"
#include "event.h"
#include "failure.h"
#include "fault_report.h"
#include "graph.h"
#include "help.h"
#include "host_function.h"
#include "kernel.h"
#include "module.h"
#include "processor.h"
#include "protection.h"
#include "wait.h"

namespace anyplace::cpu_sim {
namespace {

using backend::DeviceBackend;
using backend::from_handle;
using backend::Host;
using backend::to_handle;

/// A StreamHandle is a further handle of a stream: of the null stream, or from stream_from_native. The first handle of
/// a stream that stream_create made is the Stream itself. Both are aligned, so the handle's lowest bit tells them
/// apart.
struct StreamHandle {
  Stream* stream;
  std::uint64_t cookie;  // Faults of work that is submitted through this handle go there.
  bool counted;          // It says whether the stream counts this handle.

  static constexpr std::uint64_t tag = 1;
  static bool is(anyplace_stream handle) noexcept { return (handle & tag) != 0; }
  static StreamHandle* of(anyplace_stream handle) noexcept { return from_handle<StreamHandle>(handle & ~tag); }
  anyplace_stream tagged() noexcept { return to_handle(this) | tag; }
};

class CpuSimBackend final : public DeviceBackend {
 public:
  explicit CpuSimBackend(Host host) : host_(host), engine_(*new Engine(Config::from_environment())) {
    limit_level(engine_.config().processor_level);
    if (engine_.config().protect == Protect::off) return;
    const bool keys = Protection::begin(engine_.config().protect, host_).has_keys();
    report_faults();
    host_.log(ANYPLACE_LOG_INFO, keys ? "cpu_sim: device memory is protected by a protection key"
                                      : "cpu_sim: device memory is protected by the access of its pages");
  }

  bool shutdown(std::uint64_t timeout_ns) override {
    const bool done = engine_.shut_down(Deadline::after(timeout_ns));
    if (!done) host_.log(ANYPLACE_LOG_WARNING, "cpu_sim: work was still running at shutdown and is left alone");
    return done;
  }

  // -- Devices.
  std::int32_t device_count() override { return engine_.config().devices; }
  void device_properties(std::int32_t device, anyplace_device_properties& out) override;
  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    Device& object = engine_.device(device);
    if (kind == ANYPLACE_NATIVE_DEVICE) return static_cast<std::uint64_t>(device);
    if (kind == ANYPLACE_NATIVE_CONTEXT) return to_handle(&object);
    bad_argument("there is no native handle of kind " + std::to_string(kind));
  }
  void device_memory(std::int32_t device, anyplace_memory_info& out) override {
    const DeviceMemory& memory = engine_.device(device).memory();
    out.free_bytes = memory.free_bytes();
    out.total_bytes = memory.limit();
  }
  bool device_synchronize(std::int32_t device, std::uint64_t timeout_ns) override {
    return synchronize(engine_.device(device), Deadline::after(timeout_ns));
  }

  // -- Peer access. All devices share one memory, so only the state is kept.
  bool peer_query(std::int32_t device, std::int32_t peer) override {
    return &engine_.device(device) != &engine_.device(peer);
  }
  void peer_enable(std::int32_t device, std::int32_t peer) override { engine_.enable_peer(device, peer); }
  void peer_disable(std::int32_t device, std::int32_t peer) override { engine_.disable_peer(device, peer); }

  // -- Streams.
  anyplace_stream stream_create(std::int32_t device, const anyplace_stream_desc& desc) override {
    Device& object = engine_.device(device);
    if ((desc.flags & ~std::uint32_t{ANYPLACE_STREAM_BLOCKING}) != 0) {
      bad_argument("stream flags " + hex(desc.flags) + " contain unknown ones");
    }
    const Rule rule = (desc.flags & ANYPLACE_STREAM_BLOCKING) != 0 ? Rule::blocking : Rule::none;
    return to_handle(&engine_.make_stream(object, desc.priority, rule, desc.cookie));
  }
  anyplace_stream stream_default(std::int32_t device, const anyplace_stream_desc& desc) override {
    Device& object = engine_.device(device);
    auto handle = std::make_unique<StreamHandle>(StreamHandle{nullptr, desc.cookie, false});
    handle->stream = &object.null_stream(
        [&]() -> Stream& { return engine_.make_stream(object, desc.priority, Rule::null, desc.cookie); });
    return handle.release()->tagged();
  }
  anyplace_stream stream_from_native(std::int32_t device, std::uint64_t native,
                                     const anyplace_stream_desc& desc) override {
    auto handle = std::make_unique<StreamHandle>(StreamHandle{nullptr, desc.cookie, true});
    handle->stream = &engine_.from_native(engine_.device(device), native);
    return handle.release()->tagged();
  }
  std::uint64_t stream_native(anyplace_stream stream) override { return stream_of(stream).id(); }
  void stream_destroy(anyplace_stream stream) override {
    Stream& object = stream_of(stream);
    if (!StreamHandle::is(stream)) {
      engine_.forget(object);
      return object.drop_handle();
    }
    // The null stream's first handle is never dropped, so the stream lives as long as its device.
    const std::unique_ptr<StreamHandle> handle(StreamHandle::of(stream));
    if (handle->counted) object.drop_handle();
  }
  bool stream_query(anyplace_stream stream) override { return stream_of(stream).done(); }
  bool stream_synchronize(anyplace_stream stream, std::uint64_t timeout_ns) override {
    // The handle isn't used from here on, because another thread may destroy it meanwhile.
    Stream& object = stream_of(stream);
    return wait_for({&object.timeline(), object.submitted()}, timeout_ns);
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    const Event& object = event_of(event);
    if (object.shared() != nullptr) [[unlikely]] {
      if (const auto record = object.latest_elsewhere()) {
        return submit_shared_wait(*object.shared(), *record, stream_of(stream), host_, cookie_of(stream));
      }
    }
    stream_of(stream).submit_wait(object.latest());
  }
  void stream_host_function(anyplace_stream stream, anyplace_host_function function, void* user) override {
    if (function == nullptr) bad_argument("the host function is null");
    Stream& object = stream_of(stream);
    object.device().host_thread().start();
    object.submit<HostFunction>(object, host_, cookie_of(stream), function, user);
  }

  // -- Gates.
  anyplace_gate gate_create(std::int32_t device) override {
    engine_.device(device);
    Ref<Gate> gate = make_ref<Gate>();
    gate->is_message = Director::get() != nullptr && Director::get()->is_rank();
    return to_handle(gate.detach());
  }
  void gate_open(anyplace_gate gate) override {
    const Ref<Gate> opened = Ref<Gate>::share(*from_handle<Gate>(gate));
    if (opened->is_message) return Director::get()->message_came(*opened);
    opened->open();
  }
  void gate_destroy(anyplace_gate gate) override { from_handle<Gate>(gate)->release(); }
  void stream_wait_gate(anyplace_stream stream, anyplace_gate gate) override {
    const Ref<Gate> waited = Ref<Gate>::share(*from_handle<Gate>(gate));
    if (waited->timeline.reached(1)) {
      stream_of(stream).mark();
    } else {
      stream_of(stream).submit<WaitGate>(Ref<Gate>(waited));
    }
  }

  // -- Events.
  anyplace_event event_create(std::int32_t device, const anyplace_event_desc& desc) override {
    engine_.device(device);
    return to_handle(new Event(device, engine_.next_native(), desc.flags));
  }
  void event_destroy(anyplace_event event) override { native_events_.drop_handle(from_handle<Event>(event)); }
  void event_record(anyplace_event event, anyplace_stream stream) override {
    event_of(event).record(stream_of(stream));
  }
  bool event_query(anyplace_event event) override {
    const Event& object = event_of(event);
    if (object.shared() != nullptr) [[unlikely]] {
      if (const auto record = object.latest_elsewhere()) return object.shared()->complete(*record);
    }
    return object.latest().complete();
  }
  bool event_synchronize(anyplace_event event, std::uint64_t timeout_ns) override {
    const Event& object = event_of(event);
    if (object.shared() != nullptr) [[unlikely]] {
      if (const auto record = object.latest_elsewhere()) {
        return synchronize_shared(*object.shared(), *record, timeout_ns, object.spins());
      }
    }
    return wait_for(object.latest(), timeout_ns);
  }
  void event_export(anyplace_event event, anyplace_ipc_handle& out) override {
    const SharedEvent* const shared = event_of(event).shared();
    if (shared == nullptr) bad_argument("the event was made without ANYPLACE_EVENT_INTERPROCESS");
    shared->export_to(out);
  }
  anyplace_event event_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    engine_.device(device);
    return to_handle(new Event(device, engine_.next_native(), SharedEvent::import(handle, "cpu_sim")));
  }
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    return elapsed_ms(event_of(start), event_of(end));
  }
  std::uint64_t event_native(anyplace_event event) override { return native_events_.number_of(event_of(event)); }
  anyplace_event event_from_native(std::int32_t device, std::uint64_t native, std::uint32_t) override {
    engine_.device(device);
    return to_handle(&native_events_.add_handle(device, native));
  }
  std::uint64_t event_timestamp(anyplace_event event) override { return timestamp_ns(event_of(event)); }
  /// A simulated device has no clock but the host's, except in the deterministic mode, where its time is virtual.
  void device_clock(std::int32_t device, anyplace_clock& out) override {
    engine_.device(device);
    out.device = static_cast<std::uint64_t>(device_now_ns());
    out.host = static_cast<std::uint64_t>(now_ns());
  }

  // -- Memory.
  anyplace_address memory_allocate(std::int32_t device, std::uint32_t kind, std::uint64_t bytes) override {
    return engine_.device(device).memory().allocate(kind, bytes);
  }
  void memory_free(std::int32_t device, std::uint32_t kind, anyplace_address address) override {
    engine_.device(device).memory().free(kind, address);
  }
  anyplace_address memory_allocate_async(anyplace_stream stream, std::uint64_t bytes) override {
    // No work uses fresh memory yet, so it can be allocated ahead of the stream's order.
    return stream_of(stream).device().memory().allocate(ANYPLACE_MEMORY_DEVICE, bytes, "memory_allocate_async");
  }
  void memory_free_async(anyplace_stream stream, anyplace_address address) override {
    Stream& object = stream_of(stream);
    DeviceMemory& memory = object.device().memory();
    memory.begin_free(address);
    try {
      object.submit<FreeMemory>(memory, address);
    } catch (...) {
      memory.cancel_free(address);
      throw;
    }
  }
  void host_register(std::int32_t device, void* address, std::uint64_t bytes) override {
    engine_.device(device).registrations().add(address, bytes);
  }
  void host_unregister(std::int32_t device, void* address) override {
    engine_.device(device).registrations().remove(address);
  }

  // -- Virtual memory.
  std::uint64_t virtual_granularity(std::int32_t device) override {
    engine_.device(device);
    return page_granularity;
  }
  anyplace_address virtual_reserve(std::int32_t device, std::uint64_t bytes) override {
    return engine_.virtual_memory().reserve(engine_.device(device), bytes);
  }
  void virtual_release(std::int32_t device, anyplace_address address, std::uint64_t bytes) override {
    engine_.virtual_memory().release(engine_.device(device), address, bytes);
  }
  anyplace_physical physical_create(std::int32_t device, std::uint64_t bytes) override {
    return engine_.virtual_memory().create(engine_.device(device), bytes);
  }
  void physical_destroy(anyplace_physical physical) override { engine_.virtual_memory().destroy(physical); }
  void virtual_map(std::int32_t device, anyplace_address address, anyplace_physical physical) override {
    engine_.virtual_memory().map(engine_.device(device), address, physical);
  }
  void virtual_unmap(std::int32_t device, anyplace_address address, std::uint64_t bytes) override {
    engine_.virtual_memory().unmap(engine_.device(device), address, bytes);
  }
  void virtual_map_all(std::int32_t device, anyplace_address address, const anyplace_physical* physicals,
                       std::uint64_t count) override {
    engine_.virtual_memory().map_all(engine_.device(device), address, {physicals, static_cast<std::size_t>(count)});
  }

  // -- Sharing between processes.
  void memory_export(std::int32_t device, anyplace_address address, std::uint64_t bytes,
                     anyplace_ipc_handle& out) override {
    const FileRun run = engine_.device(device).memory().run_at(address);
    if (run.bytes != 0) return export_runs({run}, 0, out);
    std::uint64_t into = 0;
    const std::vector<FileRun> runs = engine_.virtual_memory().runs_behind(address, bytes, into);
    if (runs.empty()) {
      fail(ANYPLACE_STATUS_UNSUPPORTED, "the memory at " + hex(address) + " was not made to be shared");
    }
    export_runs(runs, into, out);
  }
  anyplace_address memory_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    engine_.device(device);
    return engine_.imported_memory().open(device, handle);
  }
  void memory_import_end(std::int32_t device, anyplace_address address) override {
    engine_.device(device);
    engine_.imported_memory().close(address);
  }

  // -- Processes. A simulated device is in one process and is nobody else's.
  std::vector<anyplace_process> list_processes(std::int32_t device) override {
    const DeviceMemory& memory = engine_.device(device).memory();
    anyplace_process self{};
    self.id = static_cast<std::uint64_t>(getpid());
    self.memory_bytes = memory.limit() - memory.free_bytes();
    self.kinds = ANYPLACE_PROCESS_COMPUTE;
    self.kinds_known = ANYPLACE_PROCESS_COMPUTE | ANYPLACE_PROCESS_GRAPHICS;
    return {self};
  }
  void device_sample(std::int32_t device, anyplace_device_sample& out) override;

  // -- Copies and fills.
  void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t kind) override {
    check_copy_kind(kind);
    if (kind == ANYPLACE_COPY_HOST_TO_DEVICE && Director::get() != nullptr) [[unlikely]] {
      if (stages(stream_of(stream), source)) {
        return submit_staged_copy(stream_of(stream), destination, source, bytes);
      }
    }
    submit_copy(stream_of(stream), destination, source, bytes);
  }
  void memory_copy_2d(anyplace_stream stream, const anyplace_copy_2d& copy) override {
    check_copy_2d(copy);
    stream_of(stream).submit<Copy2d>(copy);
  }
  void memory_copy_peer(anyplace_stream stream, std::int32_t destination_device, anyplace_address destination,
                        std::int32_t source_device, anyplace_address source, std::uint64_t bytes) override {
    engine_.device(destination_device);
    engine_.device(source_device);
    submit_copy(stream_of(stream), destination, source, bytes);
  }
  void memory_set(anyplace_stream stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                  std::uint64_t count) override {
    check_fill(address, width);
    submit_fill(stream_of(stream), address, value, width, count);
  }

  // -- Kernels. A module owns its kernels; one of kernel_from_host is owned by its handle.
  anyplace_module module_load(std::int32_t device, const anyplace_module_desc& desc) override {
    engine_.device(device);
    expect_kernels();
    return to_handle(new Module(host_, desc));
  }
  void module_unload(anyplace_module module) override {
    const std::unique_ptr<Module> unloaded(from_handle<Module>(module));
    unloaded->release_kernels([this](Ref<Kernel> kernel) { engine_.retire(std::move(kernel)); });
  }
  anyplace_kernel module_kernel(anyplace_module module, const char* name) override {
    if (name == nullptr) bad_argument("the kernel's name is null");
    return to_handle(&from_handle<Module>(module)->kernel(name));
  }
  void module_global(anyplace_module module, const char* name, anyplace_global& out) override {
    if (name == nullptr) bad_argument("the variable's name is null");
    const std::span<const std::byte> found = from_handle<Module>(module)->variable(name);
    out.address = to_handle(found.data());
    out.bytes = found.size();
  }
  std::uint64_t module_native(anyplace_module module) override { return from_handle<Module>(module)->native(); }
  std::uint64_t kernel_native(anyplace_kernel kernel) override { return from_handle<Kernel>(kernel)->native(); }
  /// Kernels are functions of the host: nobody knows what a compiler made of one.
  void kernel_attributes(anyplace_kernel, anyplace_kernel_attributes& out) override {
    out.max_threads_per_block = max_threads_per_block;
    out.registers = UINT32_MAX;
    out.sub_group_size = 1;
    out.shared_bytes = out.constant_bytes = 0;
    out.local_bytes = ANYPLACE_UNKNOWN;
  }
  /// A worker runs one block at a time.
  std::uint32_t kernel_occupancy(anyplace_kernel, std::uint32_t, std::uint64_t) override { return 1; }
  anyplace_kernel kernel_from_host(std::int32_t device, anyplace_host_kernel function, void* user,
                                   void (*release)(void*)) override {
    engine_.device(device);
    if (function == nullptr) bad_argument("the kernel's function is null");
    expect_kernels();
    return to_handle(make_ref<Kernel>(host_, function, user, release).detach());
  }
  void kernel_destroy(anyplace_kernel kernel) override {
    engine_.retire(Ref<Kernel>::adopt(from_handle<Kernel>(kernel)));
  }
  void kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch& launch) override {
    Stream& object = stream_of(stream);
    const bool own = !StreamHandle::is(stream);
    Kernel& launched = *from_handle<Kernel>(kernel);
    if (own && is_one_block(launch) && submit_one_block(object, launched, launch)) [[likely]]
      return;
    submit_launch(object, launched, cookie_of(stream), launch);
  }

  // -- Graphs.
  anyplace_graph graph_create(std::int32_t device, const anyplace_graph_desc& desc) override {
    return to_handle(new Graph(host_, engine_, engine_.device(device), desc));
  }
  void graph_update(anyplace_graph graph, const anyplace_graph_desc& desc) override {
    from_handle<Graph>(graph)->update(desc);
  }
  void graph_launch(anyplace_graph graph, anyplace_stream stream) override {
    from_handle<Graph>(graph)->launch(stream_of(stream), cookie_of(stream));
  }
  void graph_destroy(anyplace_graph graph) override { delete from_handle<Graph>(graph); }

 private:
  /// Installs the signal handlers at the first kernel, so that the signals of a process without kernels are left alone.
  void expect_kernels() noexcept {
    if (engine_.config().report_faults) report_faults();
  }
  /// Returns whether a copy from that memory of the host reads it now, in the deterministic mode. An idle stream's copy
  /// may be executed at once anyway.
  static bool stages(Stream& stream, anyplace_address source) {
    Device& device = stream.device();
    const bool is_pageable =
        device.addresses().reach(device.index(), source).owner == no_device && !device.registrations().contain(source);
    return is_pageable && !stream.done() &&
           Director::get()->choose_in_call("stage", {"read when the copy runs", "read at once"}) == 1;
  }
  static Stream& stream_of(anyplace_stream stream) noexcept {
    return StreamHandle::is(stream) ? *StreamHandle::of(stream)->stream : *from_handle<Stream>(stream);
  }
  static std::uint64_t cookie_of(anyplace_stream stream) noexcept {
    return StreamHandle::is(stream) ? StreamHandle::of(stream)->cookie : from_handle<Stream>(stream)->cookie();
  }
  static Event& event_of(anyplace_event event) noexcept { return *from_handle<Event>(event); }

  const Host host_;
  Engine& engine_;
  NativeEvents native_events_;
};

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << number; }

constexpr std::uint64_t capabilities =
    bit(ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS) | bit(ANYPLACE_CAPABILITY_BIT_PRIORITIES) |
    bit(ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS) | bit(ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS) |
    bit(ANYPLACE_CAPABILITY_BIT_GATES) | bit(ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY) |
    bit(ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY) | bit(ANYPLACE_CAPABILITY_BIT_HOST_REGISTER) |
    bit(ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY) | bit(ANYPLACE_CAPABILITY_BIT_COPY_2D) |
    bit(ANYPLACE_CAPABILITY_BIT_PEER_COPY) | bit(ANYPLACE_CAPABILITY_BIT_PEER_ACCESS) |
    bit(ANYPLACE_CAPABILITY_BIT_MODULES) | bit(ANYPLACE_CAPABILITY_BIT_HOST_KERNELS) |
    bit(ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES) | bit(ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE) |
    bit(ANYPLACE_CAPABILITY_BIT_EVENT_FROM_NATIVE) | bit(ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES) |
    bit(ANYPLACE_CAPABILITY_BIT_HOST_COPY) | bit(ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS) |
    bit(ANYPLACE_CAPABILITY_BIT_GRAPHS) | bit(ANYPLACE_CAPABILITY_BIT_MONITORING);

/// The workers are one pool for all devices, and so is their share of the time.
void CpuSimBackend::device_sample(std::int32_t device, anyplace_device_sample& out) {
  Device& object = engine_.device(device);
  const backend::Sampled sampled(out);
  const std::uint64_t limit = object.memory().limit();
  sampled.memory_total_bytes(limit);
  sampled.memory_used_bytes(limit - object.memory().free_bytes());
  Scheduler& scheduler = object.scheduler();
  // In the deterministic mode one operation at a time is executed, and not by the scheduler's workers.
  const Director* const director = Director::get();
  sampled.compute_active_ns(director != nullptr
                                ? static_cast<std::uint64_t>(director->worked_ns())
                                : static_cast<std::uint64_t>(scheduler.worked_ns()) / scheduler.limit());
  sampled.active_clock_ns(static_cast<std::uint64_t>(now_ns()));
  sampled.source("cpu_sim's own counters: the workers' time, which all its devices share, and the device's memory");
}

void CpuSimBackend::device_properties(std::int32_t device, anyplace_device_properties& out) {
  engine_.device(device);
  out.compute_units = engine_.device(device).scheduler().limit();
  constexpr std::uint64_t in_file =
      bit(ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY) | bit(ANYPLACE_CAPABILITY_BIT_INTERPROCESS_MEMORY);
  out.capabilities = capabilities | (VirtualMemory::is_supported() ? in_file : 0);
  out.image_formats = bit(ANYPLACE_IMAGE_SHARED_OBJECT);
  out.total_memory = engine_.config().memory_bytes;
  out.address_alignment = address_alignment;
  out.max_shared_bytes = max_shared_bytes;
  std::copy_n(max_grid, 3, out.max_grid);
  std::copy_n(max_block, 3, out.max_block);
  out.max_threads_per_block = max_threads_per_block;
  out.least_priority = least_priority;
  out.greatest_priority = greatest_priority;
  out.max_allocation = out.total_memory;
  out.multiprocessors = out.compute_units;
  out.sub_group_sizes = 1;
  out.features = ANYPLACE_FEATURE_FLOAT64 | ANYPLACE_FEATURE_INT64_ATOMICS | ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
  if (Director::get() != nullptr) out.features |= ANYPLACE_FEATURE_VIRTUAL_TIME;
  out.features_known = out.features | ANYPLACE_FEATURE_FLOAT16 | ANYPLACE_FEATURE_VIRTUAL_TIME;
  backend::set_text(out.name, "anyplace CPU simulator");
  backend::set_text(out.vendor, "anyplace");
  backend::set_text(out.architecture, architecture());
  backend::set_text(out.driver_version, ANYPLACE_VERSION);
  // The PCI address is made up, but has the usual form and differs for each device: 16 domains of 256 buses.
  const auto index = static_cast<unsigned>(device);
  std::snprintf(out.uuid, sizeof(out.uuid), "SIM-00000000-0000-0000-0000-%012x", index);
  std::snprintf(out.pci, sizeof(out.pci), "%04x:%02x:00.0", index >> 8, index & 0xff);
}

}  // namespace
}  // namespace anyplace::cpu_sim

/// Does what ANYPLACE_EXPORT_BACKEND's entry does. Here, and nowhere else, the deterministic mode's calls part from
/// those of threads mode.
extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  const anyplace_status status = anyplace::backend::detail::export_backend<anyplace::cpu_sim::CpuSimBackend>(
      host, table, "cpu_sim", ANYPLACE_VERSION, "Simulated devices on the threads of this machine");
  if (status == ANYPLACE_STATUS_OK && anyplace::cpu_sim::Director::get() != nullptr) {
    anyplace::cpu_sim::put_door(*table);
  }
  return status;
}
