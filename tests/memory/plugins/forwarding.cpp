// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests: a cpu_sim of its own (a private copy of that plugin) under another name, without some of its
// capabilities, which counts what it is asked for and fails on command.
//
// Compiled with FORWARDING_NAME, FORWARDING_ENGINE (the copy's path) and FORWARDING_WITHOUT (a mask of capabilities).
// FORWARDING_IMAGES, if defined, is what its devices say they take, and they take it without looking;
// FORWARDING_FORMATS is only what they say. FORWARDING_WITHOUT_DOUBLES: they say that they compute no doubles.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include "controls.h"
#include "support/layer.h"
#include "support/shifted_memory.h"

namespace {

using test::Table;

/// Entries that find out that the device is lost.
template <auto Entry>
constexpr bool looks = test::is_one_of<Entry, &Table::event_create, &Table::event_query, &Table::memory_free_async,
                                       &Table::memory_copy, &Table::memory_copy_2d, &Table::memory_copy_peer>;

using Counter = std::atomic<std::uint64_t> Controls::*;

/// What counts the calls of an entry.
template <auto Entry>
constexpr Counter counter = nullptr;
#define COUNT(entry, member) \
  template <>                \
  constexpr Counter counter<&Table::entry> = &Controls::member;
COUNT(stream_destroy, streams_destroyed)
COUNT(event_create, events)
COUNT(memory_free_async, async_frees)
COUNT(memory_copy, copies)
COUNT(memory_copy_2d, copies_2d)
COUNT(memory_copy_peer, peer_copies)
COUNT(module_kernel, kernel_lookups)
#undef COUNT

struct ForwardingLayer : test::Layer {
  Controls controls;
  test::ShiftedMemory shifted;
  std::atomic<anyplace_stream> allocating{0};  // stream of the latest memory_allocate_async, until it is synchronised

  void begin(const anyplace_host*, Table& table) { test::remove_entries(table, FORWARDING_WITHOUT); }

  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    if constexpr (looks<Entry>) {
      if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    }
    if constexpr (counter<Entry> != nullptr) ++(controls.*counter<Entry>);
    return pass_on<Entry>(args...);
  }

  // ---- Devices

  anyplace_status device_properties(int32_t device, anyplace_device_properties* out) {
    const anyplace_status status = pass_on<&Table::device_properties>(device, out);
    out->capabilities = (out->capabilities & ~std::uint64_t{FORWARDING_WITHOUT}) | ANYPLACE_FOR(NATIVE_HANDLES);
#ifdef FORWARDING_IMAGES
    out->image_formats = FORWARDING_IMAGES;
#endif
#ifdef FORWARDING_FORMATS
    out->image_formats = FORWARDING_FORMATS;
#endif
#ifdef FORWARDING_WITHOUT_DOUBLES
    out->features_known |= ANYPLACE_FEATURE_FLOAT64;
    out->features &= ~std::uint32_t{ANYPLACE_FEATURE_FLOAT64};
#endif
    return status;
  }

  anyplace_status device_native(int32_t device, uint32_t kind, uint64_t* native) {
    if (kind != ANYPLACE_NATIVE_CONTEXT) return pass_on<&Table::device_native>(device, kind, native);
    *native = reinterpret_cast<std::uintptr_t>(&controls);
    return ANYPLACE_STATUS_OK;
  }

  anyplace_status device_memory(int32_t device, anyplace_memory_info* out) {
    if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    const anyplace_status status = pass_on<&Table::device_memory>(device, out);
    if (controls.memory_unknown.load()) out->free_bytes = out->total_bytes = ANYPLACE_UNKNOWN;
    return status;
  }

  anyplace_status shutdown(uint64_t timeout_ns) {
    if (controls.tell_at_shutdown.load()) {
      std::fprintf(stderr, "pinned allocations %llu, frees %llu\n",
                   static_cast<unsigned long long>(controls.pinned_allocations.load()),
                   static_cast<unsigned long long>(controls.frees.load()));
    }
    return pass_on<&Table::shutdown>(timeout_ns);
  }

  anyplace_status event_record(anyplace_event event, anyplace_stream stream) {
    if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    if (controls.failing_records.load() != 0) {
      --controls.failing_records;
      return ANYPLACE_STATUS_BACKEND_FAILED;
    }
    return pass_on<&Table::event_record>(event, stream);
  }

  anyplace_status stream_synchronize(anyplace_stream stream, uint64_t timeout_ns) {
    const anyplace_status status = pass_on<&Table::stream_synchronize>(stream, timeout_ns);
    if (status == ANYPLACE_STATUS_OK) allocating.compare_exchange_strong(stream, 0);
    return status;
  }

  anyplace_status kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch* launch) {
    if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    ++controls.launches;
    const anyplace_stream other = allocating.load();
    if (other != 0 && other != stream) ++controls.launches_beside_allocation;
    return pass_on<&Table::kernel_launch>(stream, kernel, launch);
  }

  // ---- Memory

  anyplace_status memory_allocate_async(anyplace_stream stream, uint64_t bytes, anyplace_address* out) {
    if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    ++controls.async_allocations;
    allocating = stream;
    return pass_on<&Table::memory_allocate_async>(stream, bytes, out);
  }

  anyplace_status memory_allocate(int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
    if (controls.lost.load()) return ANYPLACE_STATUS_DEVICE_LOST;
    if (kind == ANYPLACE_MEMORY_PINNED && controls.failing_pinned.load() != 0) {
      --controls.failing_pinned;
      return ANYPLACE_STATUS_OUT_OF_MEMORY;
    }
    ++(kind == ANYPLACE_MEMORY_PINNED ? controls.pinned_allocations : controls.allocations);
    const uint64_t alignment = controls.aligned_to.load();
    if (kind == ANYPLACE_MEMORY_DEVICE && alignment != 0) return shifted.allocate(*this, device, bytes, alignment, out);
    return pass_on<&Table::memory_allocate>(device, kind, bytes, out);
  }

  /// As where a vendor has a lot to give back.
  void be_slow() { std::this_thread::sleep_for(std::chrono::milliseconds(controls.slow_give_back_ms.load())); }

  anyplace_status memory_free(int32_t device, uint32_t kind, anyplace_address address) {
    ++controls.frees;
    be_slow();
    if (controls.free_synchronises.load() && !controls.lost.load()) {
      pass_on<&Table::device_synchronize>(device, ANYPLACE_FOREVER);
    }
    const anyplace_status status = pass_on<&Table::memory_free>(device, kind, shifted.take_base(address));
    return controls.lost_in_free.load() ? anyplace_status{ANYPLACE_STATUS_DEVICE_LOST} : status;
  }

  anyplace_status virtual_map_all(int32_t device, anyplace_address address, const anyplace_physical* physicals,
                                  uint64_t count) {
    ++controls.batches_mapped;
    if (controls.failing_batches.load() != 0) {
      --controls.failing_batches;
      return ANYPLACE_STATUS_BACKEND_FAILED;
    }
    return pass_on<&Table::virtual_map_all>(device, address, physicals, count);
  }

  anyplace_status virtual_unmap(int32_t device, anyplace_address address, uint64_t bytes) {
    be_slow();
    return pass_on<&Table::virtual_unmap>(device, address, bytes);
  }

  anyplace_status physical_destroy(anyplace_physical physical) {
    be_slow();
    return pass_on<&Table::physical_destroy>(physical);
  }

  // ---- Modules

#ifdef FORWARDING_IMAGES
  // The engine knows shared objects alone; what the core made of the image is what is tested.
  static constexpr bool takes_all_images = true;
#else
  static constexpr bool takes_all_images = false;
#endif

  anyplace_status module_load(int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
    ++controls.modules_loaded;
    controls.last_format = desc->format;
    if (!takes_all_images) return pass_on<&Table::module_load>(device, desc, out);
    *out = 1;
    return ANYPLACE_STATUS_OK;
  }

  anyplace_status module_unload(anyplace_module module) {
    ++controls.modules_unloaded;
    return takes_all_images ? anyplace_status{ANYPLACE_STATUS_OK} : pass_on<&Table::module_unload>(module);
  }
};

}  // namespace

TEST_LAYER(ForwardingLayer, FORWARDING_ENGINE, FORWARDING_NAME)
