// SPDX-License-Identifier: Apache-2.0
//
// The layer `validate`: tells the engine of each call, and fails calls in the mode throw. docs/layers.md is the guide;
// README.md in layers/ says which file does what.
#include <anyplace/backend/kit/layer.h>
#include <anyplace/version.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "commands.h"
#include "engine.h"
#include "graphs.h"
#include "host_functions.h"
#include "thread.h"
#include "touches.h"
#include "validated_backend.h"

namespace anyplace::validate {
namespace {

using backend::Host;

/// The arguments that were declared for launches that the core kept for later. Guarded by the engine's mutex.
std::unordered_map<const anyplace_launch*, std::vector<Declared>>& kept_launches() {
  static auto& kept = *new std::unordered_map<const anyplace_launch*, std::vector<Declared>>();
  return kept;
}

class ValidateLayer : public ValidatedBackend {
 public:
  ValidateLayer(Host host, const anyplace_backend_table& below) : ValidatedBackend(host, below) {}

  // ---- Life

  static void load(Host) {
    Engine& engine = Engine::only();
    const std::lock_guard lock(engine.mutex);
    engine.reports.use(read_settings());
    engine.sites.learn_modules();
  }
  void begin(anyplace_backend_table& table) {
    // The class has members for entries that the backend may lack.
#define ANYPLACE_VALIDATE_KEEP(entry, presence, capabilities) \
  if (next().entry == nullptr) table.entry = nullptr;
    ANYPLACE_ENTRY_LIST(ANYPLACE_VALIDATE_KEEP)
#undef ANYPLACE_VALIDATE_KEEP
    const std::lock_guard lock(engine_.mutex);
    engine_.sites.learn_modules();
  }
  void end() {
    const std::lock_guard lock(engine_.mutex);
    static_cast<void>(engine_.publish(engine_.take_put_off()));
    if (engine_.reports.settings().leaks) {
      static_cast<void>(engine_.publish(engine_.leaks(this)));
      static_cast<void>(engine_.publish(leaks_of(objects_, engine_)));
    }
    engine_.reports.end();
  }
  static std::string command(std::string_view name, std::string_view argument) {
    Engine& engine = Engine::only();
    const std::lock_guard lock(engine.mutex);
    return run_command(engine, name, argument);
  }

  // ---- What the core tells beside calls

  void memory_taken(std::int32_t index, const anyplace_layer_memory& memory) {
    Device& device = device_of(index);
    const Sites::Frames frames = engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    engine_.take(device, memory, engine_.operation("allocate", nullptr, frames));
  }
  void memory_returned(std::int32_t index, const anyplace_layer_memory& memory) {
    Device& device = device_of(index);
    const Sites::Frames frames = engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    // Memory is given back by destructors, which can't fail.
    static_cast<void>(engine_.publish(engine_.give_back(device, memory, engine_.operation("free", nullptr, frames))));
  }
  void stream_waits(anyplace_event event, std::uint64_t cookie) {
    const std::lock_guard lock(engine_.mutex);
    if (const StreamPointer stream = engine_.stream_of(cookie)) engine_.wait(*stream, clock_of(event));
  }
  void engine_work(std::uint64_t cookie, const char* name, std::span<const anyplace_layer_access> accesses,
                   std::span<const anyplace_layer_meeting> meetings) {
    const Sites::Frames frames = engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    const StreamPointer stream = engine_.stream_of(cookie);
    if (stream == nullptr) return;
    engine_.catch_up(*stream);
    const Clock before = meetings.empty() ? Clock() : stream->clock;
    engine_.begin(*stream);
    std::vector<Touch> touches;
    for (const anyplace_layer_access& one : accesses) {
      const bool writes = (one.access & ANYPLACE_ACCESS_WRITE) != 0;
      add_device_lines(engine_, *stream->device, {one.address, one.bytes, one.bytes, 1}, writes, touches);
    }
    const std::uint32_t operation = engine_.operation(name, stream.get(), frames);
    const std::string text = engine_.publish(engine_.check(touches, stream.get(), operation));
    if (!text.empty()) refuse(text);
    engine_.remember(touches, stream.get(), operation);
    // A report that waited for this rank isn't of this call, which goes on.
    static_cast<void>(engine_.publish(engine_.meet(*stream, meetings, before)));
  }
  static void argument(std::uint32_t access, anyplace_address address, std::uint64_t bytes) {
    constexpr std::size_t most = 256;  // as many as the addresses that a program asks for between two launches
    std::vector<Declared>& declared = this_thread().declared;
    if (declared.size() >= most) declared.erase(declared.begin(), declared.begin() + most / 2);
    declared.push_back({access, {address, address + bytes}});
  }
  static void launch_kept(const anyplace_launch& launch) {
    const std::lock_guard lock(Engine::only().mutex);
    kept_launches()[&launch] = std::exchange(this_thread().declared, {});
  }
  static void host_access(std::uint32_t access, anyplace_address address, std::uint64_t bytes) {
    GraphHostFunction* const in_graph = this_thread().in_graph;
    if (in_graph != nullptr && this_thread().at == nullptr) return;  // its launch isn't known
    Engine& engine = Engine::only();
    const Sites::Frames frames = engine.sites.capture();
    const std::lock_guard lock(engine.mutex);
    Touch touch;
    touch.range = {address, address + bytes};
    touch.writes = (access & ANYPLACE_ACCESS_WRITE) != 0;
    touch.reads = !touch.writes;
    touch.is_declared = true;
    const std::vector<Touch> touches{touch};
    Stream* const at = this_thread().at;
    const std::uint32_t operation = engine.operation(touch.writes ? "host write" : "host read", at, frames);
    std::vector<Report> found = at != nullptr ? engine.host_function_accesses(touches, *at, operation)
                                              : engine.check(touches, nullptr, operation);
    if (in_graph != nullptr) in_graph->declare(engine, touch, operation, found);
    const std::string text = engine.publish(std::move(found));
    if (!text.empty() && at == nullptr) refuse(text);
    if (at == nullptr) engine.remember(touches, nullptr, operation);
  }
  static void host_function(void* user, const anyplace_copy_2d* copy) { tell_own_function(user, copy); }
  static void core_calls(bool begin) { this_thread().core_calls += begin ? 1 : -1; }

  // ---- Devices

  anyplace_status device_synchronize(std::int32_t index, std::uint64_t timeout_ns) {
    Device& device = device_of(index);
    Clock clock;
    {
      const std::lock_guard lock(engine_.mutex);
      clock = engine_.clock_of(device);
    }
    const anyplace_status status = pass_on<&Table::device_synchronize>(index, timeout_ns);
    if (status == ANYPLACE_STATUS_OK) host_saw(clock);
    return status;
  }
  anyplace_status device_reset(std::int32_t index) {
    Device& device = device_of(index);
    const Sites::Frames frames = engine_.sites.capture();
    const anyplace_status status = pass_on<&Table::device_reset>(index);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    engine_.reset(device, engine_.operation("reset", nullptr, frames));
    return status;
  }
  anyplace_status peer_enable(std::int32_t index, std::int32_t peer) {
    Device& device = device_of(index);
    const anyplace_status status = pass_on<&Table::peer_enable>(index, peer);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    device.peers.push_back(peer);
    return status;
  }
  anyplace_status peer_disable(std::int32_t index, std::int32_t peer) {
    Device& device = device_of(index);
    const anyplace_status status = pass_on<&Table::peer_disable>(index, peer);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    std::erase(device.peers, peer);
    return status;
  }

  // ---- Streams

  anyplace_status stream_create(std::int32_t index, const anyplace_stream_desc* desc, anyplace_stream* out) {
    return add_stream(index, *desc, out, false, pass_on<&Table::stream_create>(index, desc, out));
  }
  anyplace_status stream_default(std::int32_t index, const anyplace_stream_desc* desc, anyplace_stream* out) {
    return add_stream(index, *desc, out, true, pass_on<&Table::stream_default>(index, desc, out));
  }
  anyplace_status stream_from_native(std::int32_t index, std::uint64_t native, const anyplace_stream_desc* desc,
                                     anyplace_stream* out) {
    const anyplace_status status = pass_on<&Table::stream_from_native>(index, native, desc, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    {
      const std::lock_guard lock(engine_.mutex);
      const StreamPointer& known = objects_.natives[native];
      if (known != nullptr && !known->is_gone) {
        objects_.streams[*out] = known;
        engine_.add_cookie(desc->cookie, known);
        return status;
      }
    }
    static_cast<void>(add_stream(index, *desc, out, false, status));
    const std::lock_guard lock(engine_.mutex);
    objects_.natives[native] = objects_.stream(*out);
    return status;
  }
  anyplace_status stream_native(anyplace_stream handle, std::uint64_t* native) {
    const anyplace_status status = pass_on<&Table::stream_native>(handle, native);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.natives[*native] = objects_.stream(handle);
    return status;
  }
  anyplace_status stream_destroy(anyplace_stream handle) {
    {
      const std::lock_guard lock(engine_.mutex);
      if (const StreamPointer stream = objects_.stream(handle)) {
        objects_.streams.erase(handle);
        const bool is_wrapped = std::any_of(objects_.streams.begin(), objects_.streams.end(),
                                            [&](const auto& other) { return other.second == stream; });
        if (!is_wrapped) {
          std::erase_if(objects_.natives, [&](const auto& one) { return one.second == stream; });
          engine_.end_stream(stream);
        }
      }
    }
    return pass_on<&Table::stream_destroy>(handle);
  }
  anyplace_status stream_query(anyplace_stream handle, std::int32_t* done) {
    const Clock clock = clock_of_stream(handle);
    const anyplace_status status = pass_on<&Table::stream_query>(handle, done);
    if (status == ANYPLACE_STATUS_OK && *done != 0) host_saw(clock);
    return status;
  }
  anyplace_status stream_synchronize(anyplace_stream handle, std::uint64_t timeout_ns) {
    const Clock clock = clock_of_stream(handle);
    const anyplace_status status = pass_on<&Table::stream_synchronize>(handle, timeout_ns);
    if (status == ANYPLACE_STATUS_OK) host_saw(clock);
    return status;
  }
  anyplace_status stream_wait_event(anyplace_stream handle, anyplace_event event) {
    if (this_thread().core_calls == 0) {
      const std::lock_guard lock(engine_.mutex);
      if (const StreamPointer stream = objects_.stream(handle)) engine_.wait(*stream, clock_of(event));
    }
    return pass_on<&Table::stream_wait_event>(handle, event);
  }
  anyplace_status stream_host_function(anyplace_stream handle, anyplace_host_function function, void* user) {
    auto call = std::make_unique<HostFunction>(HostFunction{function, user, nullptr});
    const Sites::Frames frames = engine_.sites.capture();
    std::optional<anyplace_copy_2d> own;
    {
      const std::lock_guard lock(engine_.mutex);
      own = take_own_function(user);
      if (const StreamPointer stream = own ? nullptr : objects_.stream(handle)) {
        engine_.begin(*stream);
        call->at = std::make_unique<Stream>(*stream);
        call->is_held = is_held(++host_functions_[engine_.sites.id_of(frames)], *stream->device);
      }
    }
    if (own) {
      return submit(
          handle, host_copy_name(*own),
          [&](Device& device, std::vector<Touch>& out) { add_copy(engine_, device, *own, out); },
          [&] { return pass_on<&Table::stream_host_function>(handle, function, user); });
    }
    const anyplace_status status =
        pass_on<&Table::stream_host_function>(handle, &HostFunction::run, static_cast<void*>(call.get()));
    if (status == ANYPLACE_STATUS_OK) static_cast<void>(call.release());
    return status;
  }

  // ---- Events

  anyplace_status event_create(std::int32_t index, const anyplace_event_desc* desc, anyplace_event* out) {
    return add_event(index, desc->flags, false, out, pass_on<&Table::event_create>(index, desc, out));
  }
  anyplace_status event_from_native(std::int32_t index, std::uint64_t native, std::uint32_t flags,
                                    anyplace_event* out) {
    const anyplace_status status = pass_on<&Table::event_from_native>(index, native, flags, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    {
      const std::lock_guard lock(engine_.mutex);
      if (const std::shared_ptr<Event> known = objects_.native_events[native].lock()) {
        objects_.events[*out] = known;
        return status;
      }
    }
    static_cast<void>(add_event(index, flags, false, out, status));
    const std::lock_guard lock(engine_.mutex);
    const std::shared_ptr<Event> event = objects_.event(*out);
    event->is_foreign = true;
    objects_.native_events[native] = event;
    return status;
  }
  anyplace_status event_native(anyplace_event event, std::uint64_t* native) {
    const anyplace_status status = pass_on<&Table::event_native>(event, native);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    if (const std::shared_ptr<Event> known = objects_.event(event)) objects_.native_events[*native] = known;
    return status;
  }
  anyplace_status event_import(std::int32_t index, const anyplace_ipc_handle* handle, anyplace_event* out) {
    return add_event(index, ANYPLACE_EVENT_INTERPROCESS, true, out, pass_on<&Table::event_import>(index, handle, out));
  }
  anyplace_status event_export(anyplace_event event, anyplace_ipc_handle* out) {
    const anyplace_status status = pass_on<&Table::event_export>(event, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    if (const std::shared_ptr<Event> known = objects_.event(event)) known->is_shared = true;
    return status;
  }
  anyplace_status event_destroy(anyplace_event event) {
    {
      const std::lock_guard lock(engine_.mutex);
      objects_.events.erase(event);
      std::erase_if(objects_.native_events, [](const auto& one) { return one.second.expired(); });
    }
    return pass_on<&Table::event_destroy>(event);
  }
  anyplace_status event_record(anyplace_event event, anyplace_stream handle) {
    {
      const std::lock_guard lock(engine_.mutex);
      if (const StreamPointer stream = objects_.stream(handle)) {
        engine_.begin(*stream);
        note_record(event, *stream);
      }
    }
    return pass_on<&Table::event_record>(event, handle);
  }
  anyplace_status event_query(anyplace_event event, std::int32_t* done) {
    const Clock clock = clock_of_event(event);
    const anyplace_status status = pass_on<&Table::event_query>(event, done);
    if (status == ANYPLACE_STATUS_OK && *done != 0) host_saw(clock);
    return status;
  }
  anyplace_status event_synchronize(anyplace_event event, std::uint64_t timeout_ns) {
    const Clock clock = clock_of_event(event);
    const anyplace_status status = pass_on<&Table::event_synchronize>(event, timeout_ns);
    if (status == ANYPLACE_STATUS_OK) host_saw(clock);
    return status;
  }

  // ---- Memory

  anyplace_status memory_allocate(std::int32_t index, std::uint32_t kind, std::uint64_t bytes, anyplace_address* out) {
    const anyplace_status status = pass_on<&Table::memory_allocate>(index, kind, bytes, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.bytes[*out] = bytes;
    if (kind == ANYPLACE_MEMORY_PINNED) engine_.add_raw(*out, bytes);
    return status;
  }
  anyplace_status memory_allocate_async(anyplace_stream stream, std::uint64_t bytes, anyplace_address* out) {
    const anyplace_status status = pass_on<&Table::memory_allocate_async>(stream, bytes, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.bytes[*out] = bytes;
    return status;
  }
  anyplace_status memory_free_async(anyplace_stream stream, anyplace_address address) {
    {
      const std::lock_guard lock(engine_.mutex);
      if (const StreamPointer known = objects_.stream(stream)) give_up(known->device->space, address);
    }
    return pass_on<&Table::memory_free_async>(stream, address);
  }
  anyplace_status memory_free(std::int32_t index, std::uint32_t kind, anyplace_address address) {
    const Space space = kind == ANYPLACE_MEMORY_PINNED || kind == ANYPLACE_MEMORY_MANAGED ? 0 : device_of(index).space;
    {
      const std::lock_guard lock(engine_.mutex);
      if (kind == ANYPLACE_MEMORY_PINNED) engine_.remove_raw(0, address);
      give_up(space, address);
    }
    return pass_on<&Table::memory_free>(index, kind, address);
  }
  anyplace_status host_register(std::int32_t index, void* address, std::uint64_t bytes) {
    const anyplace_status status = pass_on<&Table::host_register>(index, address, bytes);
    if (status != ANYPLACE_STATUS_OK) return status;
    Device& device = device_of(index);
    const Sites::Frames frames = engine_.sites.capture();
    const std::lock_guard lock(engine_.mutex);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    engine_.register_host(device, {begin, begin + bytes}, engine_.operation("register", nullptr, frames));
    return status;
  }
  anyplace_status host_unregister(std::int32_t index, void* address) {
    const Sites::Frames frames = engine_.sites.capture();
    {
      const std::lock_guard lock(engine_.mutex);
      static_cast<void>(engine_.publish(engine_.unregister_host(reinterpret_cast<std::uintptr_t>(address),
                                                                engine_.operation("unregister", nullptr, frames))));
    }
    return pass_on<&Table::host_unregister>(index, address);
  }

  // ---- Work

  anyplace_status memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source,
                              std::uint64_t bytes, std::uint32_t kind) {
    const anyplace_copy_2d copy{sizeof(copy), kind, destination, bytes, source, bytes, bytes, 1};
    return submit(
        stream, copy_name(kind), [&](Device& device, std::vector<Touch>& out) { add_copy(engine_, device, copy, out); },
        [&] { return pass_on<&Table::memory_copy>(stream, destination, source, bytes, kind); });
  }
  anyplace_status memory_copy_2d(anyplace_stream stream, const anyplace_copy_2d* copy) {
    return submit(
        stream, copy_name(copy->kind),
        [&](Device& device, std::vector<Touch>& out) { add_copy(engine_, device, *copy, out); },
        [&] { return pass_on<&Table::memory_copy_2d>(stream, copy); });
  }
  anyplace_status memory_copy_peer(anyplace_stream stream, std::int32_t to, anyplace_address destination,
                                   std::int32_t from, anyplace_address source, std::uint64_t bytes) {
    Device& to_device = device_of(to);
    Device& from_device = device_of(from);
    return submit(
        stream, "copy_between_devices",
        [&](Device&, std::vector<Touch>& out) {
          add_peer_copy(engine_, to_device, destination, from_device, source, bytes, out);
        },
        [&] { return pass_on<&Table::memory_copy_peer>(stream, to, destination, from, source, bytes); });
  }
  anyplace_status memory_set(anyplace_stream stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                             std::uint64_t count) {
    const std::uint64_t bytes = count * width;
    return submit(
        stream, "fill",
        [&](Device& device, std::vector<Touch>& out) {
          add_device_lines(engine_, device, {address, bytes, bytes, 1}, true, out);
        },
        [&] { return pass_on<&Table::memory_set>(stream, address, value, width, count); });
  }

  // ---- Kernels

  anyplace_status module_kernel(anyplace_module module, const char* name, anyplace_kernel* out) {
    const anyplace_status status = pass_on<&Table::module_kernel>(module, name, out);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.kernels[*out] = std::string("kernel ") + name;
    return status;
  }
  anyplace_status kernel_destroy(anyplace_kernel kernel) {
    {
      const std::lock_guard lock(engine_.mutex);
      objects_.kernels.erase(kernel);
    }
    return pass_on<&Table::kernel_destroy>(kernel);
  }
  anyplace_status kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
    return submit(
        stream, kernel,
        [&](Device& device, std::vector<Touch>& out) {
          const auto kept = kept_launches().find(launch);
          std::vector<Declared>& declared = this_thread().declared;
          if (kept != kept_launches().end()) declared = kept->second;
          add_launch(engine_, device, *launch, declared, out);
        },
        [&] { return pass_on<&Table::kernel_launch>(stream, kernel, launch); });
  }

  // ---- Graphs

  anyplace_status graph_create(std::int32_t index, const anyplace_graph_desc* desc, anyplace_graph* out) {
    std::unique_ptr<Graph> graph = read_graph(device_of(index), *desc);
    const GraphWithCalls guarded(*desc, *graph);
    const anyplace_status status = pass_on<&Table::graph_create>(index, &guarded.desc(), out);
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.graphs[*out].now = std::move(graph);
    return status;
  }
  anyplace_status graph_update(anyplace_graph handle, const anyplace_graph_desc* desc) {
    Device* device = nullptr;
    {
      const std::lock_guard lock(engine_.mutex);
      const auto known = objects_.graphs.find(handle);
      if (known != objects_.graphs.end()) device = known->second.now->device;
    }
    if (device == nullptr) return pass_on<&Table::graph_update>(handle, desc);
    std::unique_ptr<Graph> graph = read_graph(*device, *desc);
    const GraphWithCalls guarded(*desc, *graph);
    const anyplace_status status = pass_on<&Table::graph_update>(handle, &guarded.desc());
    if (status != ANYPLACE_STATUS_OK) return status;
    const std::lock_guard lock(engine_.mutex);
    objects_.graphs[handle].replace(std::move(graph));
    return status;
  }
  anyplace_status graph_launch(anyplace_graph handle, anyplace_stream stream_handle) {
    const Sites::Frames frames = engine_.sites.capture();
    StreamPointer stream;
    GraphLaunch launch;
    Graph* graph = nullptr;  // lives at least as long as the call
    {
      const std::lock_guard lock(engine_.mutex);
      engine_.forget_operations_if_many();
      stream = objects_.stream(stream_handle);
      const auto known = objects_.graphs.find(handle);
      if (stream != nullptr && known != objects_.graphs.end()) {
        graph = known->second.now.get();
        for (const anyplace_event event : graph->waits) engine_.wait(*stream, clock_of(event));
        launch = validate::launch_graph(engine_, *graph, *stream, frames);
        if (!launch.refused.empty()) refuse(launch.refused);
        for (const anyplace_event event : graph->records) note_record(event, *stream);
      }
    }
    const anyplace_status status = pass_on<&Table::graph_launch>(handle, stream_handle);
    if (status != ANYPLACE_STATUS_OK && graph != nullptr) {
      const std::lock_guard lock(engine_.mutex);
      undo_launch(engine_, *graph, *stream, launch);
    }
    return status;
  }
  anyplace_status graph_destroy(anyplace_graph handle) {
    BackendGraph graph;  // its host functions are callable until the backend's call returns
    {
      const std::lock_guard lock(engine_.mutex);
      if (const auto found = objects_.graphs.find(handle); found != objects_.graphs.end()) {
        graph = std::move(found->second);
        objects_.graphs.erase(found);
      }
    }
    return pass_on<&Table::graph_destroy>(handle);
  }

 private:
  std::unordered_map<SiteId, std::uint64_t>
      host_functions_;  ///< how many came from a site; guarded by the engine's mutex

  std::unique_ptr<Graph> read_graph(Device& device, const anyplace_graph_desc& desc) {
    const Sites::Frames frames = engine_.sites.capture();
    // Devices are asked for before the lock is taken, because asking takes it.
    const GraphSource source{[this](std::int32_t index) -> Device& { return *devices_.at(index); },
                             [this](anyplace_kernel kernel) { return std::string(objects_.kernel_name(kernel)); },
                             [](const anyplace_launch* launch) {
                               const auto kept = kept_launches().find(launch);
                               return kept == kept_launches().end() ? std::vector<Declared>() : kept->second;
                             },
                             take_own_function};
    for (std::uint32_t i = 0; i < desc.node_count; ++i) {
      const anyplace_graph_node node = node_of(desc, i);
      if (node.kind != ANYPLACE_GRAPH_NODE_COPY) continue;
      static_cast<void>(device_of(node.destination_device));
      static_cast<void>(device_of(node.source_device));
    }
    const std::lock_guard lock(engine_.mutex);
    std::vector<Report> found;
    std::unique_ptr<Graph> graph = make_graph(engine_, device, desc, source, frames, found);
    const std::string text = engine_.publish(std::move(found));
    if (!text.empty()) refuse(text);
    return graph;
  }
};

}  // namespace
}  // namespace anyplace::validate

ANYPLACE_EXPORT_LAYER(anyplace::validate::ValidateLayer, "validate", ANYPLACE_VERSION,
                      "Reports races, uses after free and leaks by what was submitted", "ANYPLACE_VALIDATE")
