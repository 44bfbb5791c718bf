// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests: a cpu_sim of its own (a private copy of that plugin) under another name, without some of its
// capabilities, which counts what it is asked for and fails on command.
//
// Compiled with FORWARDING_NAME, FORWARDING_ENGINE (the copy's path) and FORWARDING_WITHOUT (a mask of capabilities).
// FORWARDING_IMAGES, if defined, is what its devices say they take, and they take it without looking;
// FORWARDING_FORMATS is only what they say.
#include <anyplace/backend/abi.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "controls.h"
#include "support/table_entries.h"

namespace {

Controls controls;
anyplace_backend_table engine;

constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }
constexpr std::uint64_t without = FORWARDING_WITHOUT;

/// What a lost device answers.
#define RETURN_IF_LOST \
  if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST

anyplace_status device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  const anyplace_status status = engine.device_properties(self, device, out);
  out->capabilities = (out->capabilities & ~without) | bit(ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
#ifdef FORWARDING_IMAGES
  out->image_formats = FORWARDING_IMAGES;
#endif
#ifdef FORWARDING_FORMATS
  out->image_formats = FORWARDING_FORMATS;
#endif
  return status;
}

anyplace_status device_native(void* self, int32_t device, uint32_t kind, uint64_t* native) {
  if (kind != ANYPLACE_NATIVE_CONTEXT) return engine.device_native(self, device, kind, native);
  *native = reinterpret_cast<std::uintptr_t>(&controls);
  return ANYPLACE_STATUS_OK;
}

anyplace_status stream_destroy(void* self, anyplace_stream stream) {
  ++controls.streams_destroyed;
  return engine.stream_destroy(self, stream);
}

anyplace_status event_create(void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
  RETURN_IF_LOST;
  ++controls.events;
  return engine.event_create(self, device, desc, out);
}

anyplace_status event_record(void* self, anyplace_event event, anyplace_stream stream) {
  RETURN_IF_LOST;
  if (controls.failing_records.load() != 0) {
    --controls.failing_records;
    return ANYPLACE_STATUS_BACKEND_FAILED;
  }
  return engine.event_record(self, event, stream);
}

anyplace_status event_query(void* self, anyplace_event event, int32_t* done) {
  RETURN_IF_LOST;
  return engine.event_query(self, event, done);
}

anyplace_status device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  RETURN_IF_LOST;
  const anyplace_status status = engine.device_memory(self, device, out);
  if (controls.memory_unknown.load()) out->free_bytes = out->total_bytes = ANYPLACE_UNKNOWN;
  return status;
}

/// Where the engine's memory begins, by the address that was given out instead.
std::mutex shifted_mutex;  // guards shifted
std::map<anyplace_address, anyplace_address> shifted;

/// More of the engine's memory, of which the part is given out that begins at an odd multiple of `alignment`.
anyplace_status allocate_aligned(void* self, int32_t device, uint64_t bytes, uint64_t alignment,
                                 anyplace_address* out) {
  anyplace_address base = 0;
  const anyplace_status status =
      engine.memory_allocate(self, device, ANYPLACE_MEMORY_DEVICE, bytes + 3 * alignment, &base);
  if (status != ANYPLACE_STATUS_OK) return status;
  *out = (base + 2 * alignment - 1) / (2 * alignment) * (2 * alignment) + alignment;
  const std::lock_guard lock(shifted_mutex);
  shifted[*out] = base;
  return status;
}

anyplace_address engine_address(anyplace_address address) {
  const std::lock_guard lock(shifted_mutex);
  const auto found = shifted.find(address);
  if (found == shifted.end()) return address;
  const anyplace_address base = found->second;
  shifted.erase(found);
  return base;
}

anyplace_status memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
  RETURN_IF_LOST;
  if (kind == ANYPLACE_MEMORY_PINNED && controls.failing_pinned.load() != 0) {
    --controls.failing_pinned;
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  }
  ++(kind == ANYPLACE_MEMORY_PINNED ? controls.pinned_allocations : controls.allocations);
  const uint64_t alignment = controls.aligned_to.load();
  if (kind == ANYPLACE_MEMORY_DEVICE && alignment != 0) return allocate_aligned(self, device, bytes, alignment, out);
  return engine.memory_allocate(self, device, kind, bytes, out);
}

/// As where a vendor has a lot to give back.
void be_slow() { std::this_thread::sleep_for(std::chrono::milliseconds(controls.slow_give_back_ms.load())); }

anyplace_status memory_free(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  ++controls.frees;
  be_slow();
  if (controls.free_synchronises.load() && !controls.lost.load()) {
    engine.device_synchronize(self, device, ANYPLACE_FOREVER);
  }
  return engine.memory_free(self, device, kind, engine_address(address));
}

anyplace_status memory_allocate_async(void* self, anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
  RETURN_IF_LOST;
  ++controls.async_allocations;
  return engine.memory_allocate_async(self, stream, bytes, out);
}

anyplace_status memory_free_async(void* self, anyplace_stream stream, anyplace_address address) {
  RETURN_IF_LOST;
  ++controls.async_frees;
  return engine.memory_free_async(self, stream, address);
}

anyplace_status virtual_map_all(void* self, int32_t device, anyplace_address address,
                                const anyplace_physical* physicals, uint64_t count) {
  ++controls.batches_mapped;
  if (controls.failing_batches.load() != 0) {
    --controls.failing_batches;
    return ANYPLACE_STATUS_BACKEND_FAILED;
  }
  return engine.virtual_map_all(self, device, address, physicals, count);
}

anyplace_status virtual_unmap(void* self, int32_t device, anyplace_address address, uint64_t bytes) {
  be_slow();
  return engine.virtual_unmap(self, device, address, bytes);
}

anyplace_status physical_destroy(void* self, anyplace_physical physical) {
  be_slow();
  return engine.physical_destroy(self, physical);
}

anyplace_status memory_copy(void* self, anyplace_stream stream, anyplace_address destination, anyplace_address source,
                            uint64_t bytes, uint32_t kind) {
  RETURN_IF_LOST;
  ++controls.copies;
  return engine.memory_copy(self, stream, destination, source, bytes, kind);
}

anyplace_status memory_copy_2d(void* self, anyplace_stream stream, const anyplace_copy_2d* copy) {
  RETURN_IF_LOST;
  ++controls.copies_2d;
  return engine.memory_copy_2d(self, stream, copy);
}

anyplace_status memory_copy_peer(void* self, anyplace_stream stream, int32_t destination_device,
                                 anyplace_address destination, int32_t source_device, anyplace_address source,
                                 uint64_t bytes) {
  RETURN_IF_LOST;
  ++controls.peer_copies;
  return engine.memory_copy_peer(self, stream, destination_device, destination, source_device, source, bytes);
}

anyplace_status module_load(void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
  ++controls.modules_loaded;
  controls.last_format = desc->format;
#ifdef FORWARDING_IMAGES
  // The engine knows shared objects alone; what the core made of the image is what is tested.
  static_cast<void>(self);
  static_cast<void>(device);
  *out = 1;
  return ANYPLACE_STATUS_OK;
#else
  return engine.module_load(self, device, desc, out);
#endif
}

anyplace_status module_unload(void* self, anyplace_module module) {
  ++controls.modules_unloaded;
#ifdef FORWARDING_IMAGES
  static_cast<void>(self);
  static_cast<void>(module);
  return ANYPLACE_STATUS_OK;
#else
  return engine.module_unload(self, module);
#endif
}

anyplace_status module_kernel(void* self, anyplace_module module, const char* name, anyplace_kernel* out) {
  ++controls.kernel_lookups;
  return engine.module_kernel(self, module, name, out);
}

anyplace_status kernel_launch(void* self, anyplace_stream stream, anyplace_kernel kernel,
                              const anyplace_launch* launch) {
  RETURN_IF_LOST;
  ++controls.launches;
  return engine.kernel_launch(self, stream, kernel, launch);
}

anyplace_status shutdown(void* self, uint64_t timeout_ns) {
  if (controls.tell_at_shutdown.load()) {
    std::fprintf(stderr, "pinned allocations %llu, frees %llu\n",
                 static_cast<unsigned long long>(controls.pinned_allocations.load()),
                 static_cast<unsigned long long>(controls.frees.load()));
  }
  return engine.shutdown(self, timeout_ns);
}

void replace_entries(anyplace_backend_table& table) {
  table.device_properties = device_properties;
  table.device_native = device_native;
  table.device_memory = device_memory;
  table.stream_destroy = stream_destroy;
  table.event_create = event_create;
  table.event_record = event_record;
  table.event_query = event_query;
  table.memory_allocate = memory_allocate;
  table.memory_free = memory_free;
  table.memory_allocate_async = memory_allocate_async;
  table.memory_free_async = memory_free_async;
  table.virtual_map_all = virtual_map_all;
  table.virtual_unmap = virtual_unmap;
  table.physical_destroy = physical_destroy;
  table.memory_copy = memory_copy;
  table.memory_copy_2d = memory_copy_2d;
  table.memory_copy_peer = memory_copy_peer;
  table.module_load = module_load;
  table.module_unload = module_unload;
  table.module_kernel = module_kernel;
  table.kernel_launch = kernel_launch;
  table.shutdown = shutdown;
}

}  // namespace

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  void* const library = dlopen(FORWARDING_ENGINE, RTLD_NOW | RTLD_LOCAL);
  void* const symbol = library != nullptr ? dlsym(library, ANYPLACE_ENTRY_SYMBOL) : nullptr;
  if (symbol == nullptr) {
    host->leave_message(host->context, 0, nullptr, dlerror());
    return ANYPLACE_STATUS_LIBRARY_MISSING;
  }
  anyplace_backend_entry_function entry = nullptr;
  std::memcpy(&entry, &symbol, sizeof(entry));
  const anyplace_status status = entry(host, table);
  if (status != ANYPLACE_STATUS_OK) return status;
  engine = *table;
  std::memset(table->name, 0, sizeof(table->name));
  std::strncpy(table->name, FORWARDING_NAME, sizeof(table->name) - 1);
  replace_entries(*table);
  remove_entries(table, without);
  return ANYPLACE_STATUS_OK;
}
