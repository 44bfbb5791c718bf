// SPDX-License-Identifier: Apache-2.0
//
// Operations that are undone leave nothing behind: no memory of the device or the host, no thread, descriptor or
// mapping. Everything that a backend makes for an operation is released or reused some time after it.
#include <algorithm>

#include "figures.h"
#include "table_module.h"

namespace anyplace::conformance::books_cases {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{256} << 10;

/// The objects with which an operation is tried.
struct Bench {
  const TableBackend& backend;
  anyplace_stream stream;
  anyplace_stream other;
  anyplace_address memory;  ///< block_bytes of device memory
  Bytes host;               ///< of the same size
};

struct Operation {
  std::string label;
  std::vector<Capability> needs;
  int times;  ///< in a round
  std::uint64_t device_bytes;
  void (*once)(Bench& bench);
};

// ---- Streams and events

/// Submits some work. It is a copy, because PoCL 6 itself loses 32 bytes at each fill.
void work_on(Bench& bench, anyplace_stream stream, std::uint64_t offset = 0) {
  MUST(bench.backend, memory_copy, stream, bench.memory + offset, bench.memory + block_bytes / 2, 64,
       ANYPLACE_COPY_DEVICE_TO_DEVICE);
}

void use_a_stream(Bench& bench) {
  const anyplace_stream stream = bench.backend.stream();
  work_on(bench, stream);
  bench.backend.synchronize(stream);
  bench.backend.destroy(stream);
}

void leave_a_stream_with_work(Bench& bench) {
  const anyplace_stream stream = bench.backend.stream();
  // Each round has a place of its own: nothing orders the streams, whose work may overlap that of the next.
  static std::uint64_t round = 0;
  constexpr std::uint64_t bytes = 64;
  work_on(bench, stream, round++ % (block_bytes / 2 / bytes) * bytes);
  bench.backend.destroy(stream);
}

void make_a_stream(Bench& bench) { bench.backend.destroy(bench.backend.stream()); }

void use_an_event(Bench& bench, std::uint32_t flags) {
  const anyplace_event event = bench.backend.event(flags);
  MUST(bench.backend, event_record, event, bench.stream);
  MUST(bench.backend, stream_wait_event, bench.other, event);
  MUST(bench.backend, event_synchronize, event, ANYPLACE_FOREVER);
  MUST(bench.backend, event_destroy, event);
}

void use_a_plain_event(Bench& bench) {
  use_an_event(bench, 0);
  if (bench.backend.has(Capability::interprocess_events)) use_an_event(bench, ANYPLACE_EVENT_INTERPROCESS);
}
void use_a_blocking_event(Bench& bench) { use_an_event(bench, ANYPLACE_EVENT_BLOCKING_SYNC); }
void use_a_timed_event(Bench& bench) { use_an_event(bench, ANYPLACE_EVENT_TIMING); }

void leave_an_event_with_a_wait(Bench& bench) {
  const anyplace_event event = bench.backend.event();
  work_on(bench, bench.stream);
  MUST(bench.backend, event_record, event, bench.stream);
  MUST(bench.backend, stream_wait_event, bench.other, event);
  MUST(bench.backend, event_destroy, event);
  bench.backend.synchronize(bench.other);
}

void make_an_event(Bench& bench) {
  const anyplace_event event = bench.backend.event();
  MUST(bench.backend, event_destroy, event);
}

void record_again(Bench& bench) {
  static const anyplace_event event = bench.backend.event();
  MUST(bench.backend, event_record, event, bench.stream);
  MUST(bench.backend, stream_wait_event, bench.other, event);
  MUST(bench.backend, stream_synchronize, bench.other, ANYPLACE_FOREVER);
}

void ask_and_time_out(Bench& bench) {
  static const anyplace_event event = bench.backend.event();
  std::int32_t done = 0;
  work_on(bench, bench.stream);
  MUST(bench.backend, event_record, event, bench.stream);
  MUST(bench.backend, stream_query, bench.stream, &done);
  MUST(bench.backend, event_query, event, &done);
  static_cast<void>(ENTRY(bench.backend, stream_synchronize, bench.stream, 1));
  static_cast<void>(ENTRY(bench.backend, event_synchronize, event, 1));
  static_cast<void>(ENTRY(bench.backend, device_synchronize, bench.backend.device(), 1));
  bench.backend.synchronize(bench.stream);
}

void run_a_host_function(Bench& bench) {
  submit(bench.backend, bench.stream, [] {});
  bench.backend.synchronize(bench.stream);
}

anyplace_gate new_gate(Bench& bench) {
  anyplace_gate gate = 0;
  MUST(bench.backend, gate_create, bench.backend.device(), &gate);
  return gate;
}

void wait_for_a_gate(Bench& bench) {
  const anyplace_gate gate = new_gate(bench);
  MUST(bench.backend, stream_wait_gate, bench.stream, gate);
  MUST(bench.backend, gate_open, gate);
  MUST(bench.backend, gate_destroy, gate);
  bench.backend.synchronize(bench.stream);
}

void open_a_gate(Bench& bench) {
  const anyplace_gate gate = new_gate(bench);
  MUST(bench.backend, gate_open, gate);
  MUST(bench.backend, gate_destroy, gate);
}

void wrap_a_stream(Bench& bench) {
  const anyplace_stream wrapper = bench.backend.wrapper_of(bench.backend.native(bench.stream));
  work_on(bench, wrapper);
  bench.backend.synchronize(wrapper);
  bench.backend.destroy(wrapper);
}

const std::vector<Operation> stream_operations = {
    {"a stream that is made and destroyed", {}, 40, 0, make_a_stream},
    {"a stream that is used", {}, 40, 0, use_a_stream},
    // A vendor's library may remember something of each such stream, so the heap is checked less strictly.
    {"a stream that is destroyed with work pending", {}, 40, 1, leave_a_stream_with_work},
    {"an event that is made and destroyed", {}, 200, 0, make_an_event},
    {"an event that is used", {}, 200, 0, use_a_plain_event},
    {"an event that the host sleeps for", {}, 200, 0, use_a_blocking_event},
    {"an event that is timed", {Capability::timed_events}, 200, 0, use_a_timed_event},
    {"an event that is destroyed while it is waited for", {}, 200, 0, leave_an_event_with_a_wait},
    {"recording one event again and waiting for it", {}, 200, 0, record_again},
    {"asking, and waiting for as good as no time", {}, 200, 0, ask_and_time_out},
    {"a host function", {Capability::host_functions}, 200, 0, run_a_host_function},
    {"a gate that is waited for", {Capability::gates}, 100, 0, wait_for_a_gate},
    {"a gate that nothing waits for", {Capability::gates}, 100, 0, open_a_gate},
    {"a wrapper of a native stream",
     {Capability::native_handles, Capability::stream_from_native},
     40,
     0,
     wrap_a_stream},
};

// ---- Memory

void allocate_kind(Bench& bench, std::uint32_t kind) {
  const anyplace_address address = bench.backend.allocate(block_bytes, kind);
  bench.backend.free(address, kind);
}

void allocate_device(Bench& bench) { allocate_kind(bench, ANYPLACE_MEMORY_DEVICE); }
void allocate_pinned(Bench& bench) { allocate_kind(bench, ANYPLACE_MEMORY_PINNED); }
void allocate_managed(Bench& bench) { allocate_kind(bench, ANYPLACE_MEMORY_MANAGED); }
void allocate_shareable(Bench& bench) {
  const anyplace_address address = bench.backend.allocate(block_bytes, ANYPLACE_MEMORY_SHAREABLE);
  bench.backend.free(address);  // it is freed as DEVICE
}

void allocate_touched(Bench& bench) {
  const anyplace_address address = bench.backend.allocate(block_bytes);
  bench.backend.fill(bench.stream, address, 1, block_bytes);
  bench.backend.free(address);
}

void allocate_in_order(Bench& bench) {
  anyplace_address address = 0;
  MUST(bench.backend, memory_allocate_async, bench.stream, block_bytes, &address);
  MUST(bench.backend, memory_set, bench.stream, address, 1, 1, 4096);
  MUST(bench.backend, memory_free_async, bench.stream, address);
  bench.backend.synchronize(bench.stream);
}

void allocate_in_order_free_at_once(Bench& bench) {
  anyplace_address address = 0;
  MUST(bench.backend, memory_allocate_async, bench.stream, block_bytes, &address);
  bench.backend.synchronize(bench.stream);
  bench.backend.free(address);
}

void allocate_at_once_free_in_order(Bench& bench) {
  const anyplace_address address = bench.backend.allocate(block_bytes);
  MUST(bench.backend, memory_free_async, bench.stream, address);
  bench.backend.synchronize(bench.stream);
}

constexpr std::uint64_t too_much = std::uint64_t{1} << 62;

void fail_to_allocate(Bench& bench) {
  anyplace_address address = 0;
  CHECK_STATUS(OUT_OF_MEMORY, bench.backend, memory_allocate, bench.backend.device(), ANYPLACE_MEMORY_DEVICE, too_much,
               &address);
}

void fail_to_allocate_pinned(Bench& bench) {
  anyplace_address address = 0;
  CHECK_STATUS(OUT_OF_MEMORY, bench.backend, memory_allocate, bench.backend.device(), ANYPLACE_MEMORY_PINNED, too_much,
               &address);
}

void fail_to_allocate_in_order(Bench& bench) {
  anyplace_address address = 0;
  CHECK_STATUS(OUT_OF_MEMORY, bench.backend, memory_allocate_async, bench.stream, too_much, &address);
  bench.backend.synchronize(bench.stream);
}

void register_memory(Bench& bench) {
  MUST(bench.backend, host_register, bench.backend.device(), bench.host.data(), bench.host.size());
  MUST(bench.backend, host_unregister, bench.backend.device(), bench.host.data());
}

void copy_pageable(Bench& bench) {
  const std::uint64_t host = number_of(bench.host.data());
  MUST(bench.backend, memory_copy, bench.stream, bench.memory, host, 100001, ANYPLACE_COPY_HOST_TO_DEVICE);
  MUST(bench.backend, memory_copy, bench.stream, host, bench.memory, 100001, ANYPLACE_COPY_DEVICE_TO_HOST);
  MUST(bench.backend, memory_copy, bench.stream, bench.memory, bench.memory + block_bytes / 2, 100001,
       ANYPLACE_COPY_DEVICE_TO_DEVICE);
  bench.backend.synchronize(bench.stream);
}

void fill_memory(Bench& bench) {
  MUST(bench.backend, memory_set, bench.stream, bench.memory, 7, 4, 1000);
  bench.backend.synchronize(bench.stream);
}

void copy_lines(Bench& bench) {
  anyplace_copy_2d copy{
      sizeof(copy), ANYPLACE_COPY_DEVICE_TO_DEVICE, bench.memory, 128, bench.memory + block_bytes / 2, 256, 100, 64};
  MUST(bench.backend, memory_copy_2d, bench.stream, &copy);
  bench.backend.synchronize(bench.stream);
}

const std::vector<Operation> memory_operations = {
    {"device memory", {}, 32, block_bytes, allocate_device},
    {"device memory that was written", {}, 32, block_bytes, allocate_touched},
    {"pinned memory", {Capability::pinned_memory}, 32, block_bytes, allocate_pinned},
    {"managed memory", {Capability::managed_memory}, 32, block_bytes, allocate_managed},
    {"shareable memory", {Capability::interprocess_memory}, 32, block_bytes, allocate_shareable},
    {"memory in a stream's order", {Capability::stream_ordered_memory}, 32, block_bytes, allocate_in_order},
    {"memory in a stream's order that is freed at once",
     {Capability::stream_ordered_memory},
     32,
     block_bytes,
     allocate_in_order_free_at_once},
    {"memory that is freed in a stream's order",
     {Capability::stream_ordered_memory},
     32,
     block_bytes,
     allocate_at_once_free_in_order},
    {"memory that is refused", {}, 100, 0, fail_to_allocate},
    {"pinned memory that is refused", {Capability::pinned_memory}, 100, 0, fail_to_allocate_pinned},
    {"memory in a stream's order that is refused",
     {Capability::stream_ordered_memory},
     100,
     0,
     fail_to_allocate_in_order},
    {"registered memory", {Capability::host_register}, 50, 0, register_memory},
    {"copies", {}, 100, 0, copy_pageable},
    {"fills", {}, 100, 1, fill_memory},  // work_on() says why
    {"pitched copies", {Capability::copy_2d}, 100, 0, copy_lines},
};

void check(Run& run, const Operation& operation) {
  TableBackend backend(run);
  for (const Capability needed : operation.needs) {
    if (!backend.has(needed)) skip(to_string(needed));
  }
  Bench bench{backend, backend.stream(), backend.stream(), backend.allocate(block_bytes),
              Bytes(static_cast<std::size_t>(block_bytes), 3)};
  check_leaves_nothing(backend, operation.times, operation.device_bytes, [&] { operation.once(bench); });
}

ANYPLACE_CASES(stream_operations, "books", "process.books", "{} leaves nothing behind") { check(run, parameter); }

ANYPLACE_CASES(memory_operations, "books", "process.books", "{} leaves nothing behind") { check(run, parameter); }

// ---- Virtual memory

anyplace_address reserve(const TableBackend& backend, std::uint64_t bytes) {
  anyplace_address range = 0;
  MUST(backend, virtual_reserve, backend.device(), bytes, &range);
  return range;
}

anyplace_physical physical(const TableBackend& backend, std::uint64_t bytes) {
  anyplace_physical memory = 0;
  MUST(backend, physical_create, backend.device(), bytes, &memory);
  return memory;
}

ANYPLACE_CASE("books", "process.books", "addresses and memory that are refused or unused leave nothing behind",
              Capability::virtual_memory) {
  TableBackend backend(run);
  std::uint64_t granule = 0;
  MUST(backend, virtual_granularity, backend.device(), &granule);
  check_leaves_nothing(backend, 16, granule, [&] {
    const anyplace_address range = reserve(backend, 4 * granule);
    const anyplace_physical memory = physical(backend, granule);
    anyplace_physical refused = 0;
    CHECK_STATUS(OUT_OF_MEMORY, backend, physical_create, backend.device(), too_much, &refused);
    MUST(backend, physical_destroy, memory);
    MUST(backend, virtual_release, backend.device(), range, 4 * granule);
  });
}

ANYPLACE_CASE("books", "process.books", "memory that is destroyed first and unmapped all at once leaves nothing behind",
              Capability::virtual_memory) {
  TableBackend backend(run);
  std::uint64_t granule = 0;
  MUST(backend, virtual_granularity, backend.device(), &granule);
  check_leaves_nothing(backend, 8, granule, [&] {
    const anyplace_address range = reserve(backend, 4 * granule);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const anyplace_physical memory = physical(backend, granule);
      MUST(backend, virtual_map, backend.device(), range + i * granule, memory);
      MUST(backend, physical_destroy, memory);
    }
    MUST(backend, virtual_unmap, backend.device(), range, 4 * granule);
    MUST(backend, virtual_release, backend.device(), range, 4 * granule);
  });
}

// ---- Kernels

ANYPLACE_CASE("books", "process.books", "a module leaves nothing behind", Capability::modules, test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  image.need_no_compiler();
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  check_leaves_nothing(backend, 12, 0, [&] {
    const anyplace_module_desc desc = image.desc();
    anyplace_module module = 0;
    anyplace_kernel kernel = 0;
    anyplace_kernel none = 0;
    MUST(backend, module_load, backend.device(), &desc, &module);
    MUST(backend, module_kernel, module, "fill", &kernel);
    CHECK_STATUS(NO_SUCH_KERNEL, backend, module_kernel, module, "no_such_kernel", &none);
    FillLaunch fill(memory, 64, 1);
    MUST(backend, kernel_launch, stream, kernel, &fill.launch());
    backend.synchronize(stream);
    MUST(backend, module_unload, module);
  });
}

ANYPLACE_CASE("books", "process.books", "launches of a module's kernel leave nothing behind", Capability::modules,
              test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  const anyplace_module_desc desc = image.desc();
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  check_leaves_nothing(backend, 100, 0, [&] {
    anyplace_kernel again = 0;
    FillLaunch fill(memory, 64, 1);
    MUST(backend, module_kernel, module, "fill", &again);
    MUST(backend, kernel_launch, stream, again, &fill.launch());
    backend.synchronize(stream);
  });
}

ANYPLACE_CASE("books", "process.books", "an image that is refused leaves nothing behind", Capability::modules,
              test_module) {
  TableBackend backend(run);
  TableImage image(run);
  image.need_no_compiler();
  image.bytes().resize(std::min<std::size_t>(image.bytes().size(), 64));  // its format is still recognised
  check_leaves_nothing(backend, 12, 0, [&] {
    const anyplace_module_desc desc = image.desc();
    anyplace_module module = 0;
    CHECK_STATUS(INVALID_IMAGE, backend, module_load, backend.device(), &desc, &module);
  });
}

ANYPLACE_CASE("books", "process.books", "a kernel of the process leaves nothing behind", Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  check_leaves_nothing(backend, 100, 0, [&] {
    const anyplace_kernel kernel = backend.kernel(do_nothing);
    anyplace_launch launch = launch_of(1);
    launch.shared_bytes = 256;
    MUST(backend, kernel_launch, stream, kernel, &launch);
    backend.synchronize(stream);
    MUST(backend, kernel_destroy, kernel);
  });
}

// ---- Peers

ANYPLACE_CASE("books", "process.books", "peer access and copies between devices leave nothing behind",
              Capability::peer_copy, second_device) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address near = backend.allocate(4096);
  anyplace_address far = 0;
  MUST(backend, memory_allocate, backend.second(), ANYPLACE_MEMORY_DEVICE, 4096, &far);
  std::int32_t reaches = 0;
  if (backend.has(Capability::peer_access)) MUST(backend, peer_query, backend.device(), backend.second(), &reaches);
  check_leaves_nothing(backend, 50, 0, [&] {
    if (reaches != 0) MUST(backend, peer_enable, backend.device(), backend.second());
    MUST(backend, memory_copy_peer, stream, backend.second(), far, backend.device(), near, 4096);
    backend.synchronize(stream);
    if (reaches != 0) MUST(backend, peer_disable, backend.device(), backend.second());
  });
}

// ---- The whole memory

ANYPLACE_CASE("books", "process.books", "memory that was used up can all be allocated again") {
  TableBackend backend(run);
  const anyplace_memory_info info = backend.memory(backend.device());
  if (info.free_bytes == ANYPLACE_UNKNOWN) skip("a free figure that the vendor can tell");
  const std::uint64_t bytes = std::max<std::uint64_t>(4096, info.free_bytes / 8);
  std::size_t fewest = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<anyplace_address> blocks;
    for (;;) {
      anyplace_address address = 0;
      const anyplace_status status =
          ENTRY(backend, memory_allocate, backend.device(), ANYPLACE_MEMORY_DEVICE, bytes, &address);
      if (status == ANYPLACE_STATUS_OUT_OF_MEMORY || blocks.size() > 64) break;
      TableBackend::require(status, "memory_allocate", {});
      blocks.push_back(address);
    }
    for (const anyplace_address address : blocks) backend.free(address);
    if (round == 0) fewest = blocks.size();
    // Another process may have taken some memory meanwhile.
    CHECK(blocks.size() + 2 >= fewest);
  }
}

}  // namespace
}  // namespace anyplace::conformance::books_cases
