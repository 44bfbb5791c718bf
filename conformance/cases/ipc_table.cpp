// SPDX-License-Identifier: Apache-2.0
// Sharing between processes at the plugin's table: how long a wait for another process's record lasts, what sharing
// leaves behind, and shareable memory in the device's figures.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "figures.h"
#include "second_process.h"

namespace anyplace::conformance::ipc_table_cases {
namespace {

constexpr std::uint64_t block_bytes = std::uint64_t{64} << 10;

// ---- Handles

void send(const Talk& talk, const anyplace_ipc_handle& handle) {
  std::vector<std::byte> bytes(sizeof(handle));
  std::memcpy(bytes.data(), &handle, sizeof(handle));
  talk.send(bytes);
}

anyplace_ipc_handle receive(const Talk& talk) {
  const std::vector<std::byte> bytes = talk.receive();
  anyplace_ipc_handle handle{};
  CHECK(bytes.size() == sizeof(handle));
  std::memcpy(&handle, bytes.data(), sizeof(handle));
  return handle;
}

anyplace_ipc_handle empty_handle() {
  anyplace_ipc_handle handle{};
  handle.struct_size = sizeof(handle);
  return handle;
}

anyplace_ipc_handle exported(const TableBackend& backend, anyplace_event event) {
  anyplace_ipc_handle handle = empty_handle();
  MUST(backend, event_export, event, &handle);
  CHECK(handle.byte_count > 0 && handle.byte_count <= ANYPLACE_IPC_BYTES);
  return handle;
}

anyplace_event imported_event(const TableBackend& backend, const anyplace_ipc_handle& handle) {
  anyplace_event event = 0;
  MUST(backend, event_import, backend.device(), &handle, &event);
  CHECK(event != 0);
  return event;
}

anyplace_status try_export(const TableBackend& backend, anyplace_address address, std::uint64_t bytes,
                           anyplace_ipc_handle* out) {
  *out = empty_handle();
  return ENTRY(backend, memory_export, backend.device(), address, bytes, out);
}

anyplace_ipc_handle exported(const TableBackend& backend, anyplace_address address, std::uint64_t bytes) {
  anyplace_ipc_handle handle{};
  TableBackend::require(try_export(backend, address, bytes, &handle), "memory_export", {});
  CHECK(handle.byte_count > 0 && handle.byte_count <= ANYPLACE_IPC_BYTES);
  CHECK(handle.offset <= handle.size && handle.size - handle.offset >= bytes);
  return handle;
}

void end_export(const TableBackend& backend, anyplace_address address, const anyplace_ipc_handle& handle) {
  if (backend.table().memory_export_end == nullptr) return;
  MUST(backend, memory_export_end, backend.device(), address, &handle);
}

anyplace_address imported_memory(const TableBackend& backend, const anyplace_ipc_handle& handle) {
  anyplace_address address = 0;
  MUST(backend, memory_import, backend.device(), &handle, &address);
  CHECK(address != 0);
  return address;
}

// ---- Limits of waits

bool cannot_wait_so(anyplace_status status, std::uint64_t timeout) {
  return status == ANYPLACE_STATUS_UNSUPPORTED && timeout != ANYPLACE_FOREVER;
}

/// Runs in a process with an event: records it behind a gate as often as it is told to, and completes the record when
/// told again.
void record_on_demand(const Run& run, const Talk& talk, std::size_t times) {
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event(ANYPLACE_EVENT_INTERPROCESS);
  send(talk, exported(backend, event));
  for (std::size_t i = 0; i < times; ++i) {
    talk.hear();
    TableHold hold(backend);
    hold.hold(stream);
    MUST(backend, event_record, event, stream);
    talk.tell();
    talk.hear();
    hold.open();
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    talk.tell();
  }
  talk.hear();
  MUST(backend, event_destroy, event);
  backend.destroy(stream);
}

void check_over_in_time(anyplace_status status, std::uint64_t timeout, const char* entry) {
  if (cannot_wait_so(status, timeout)) return;
  CHECK_EQUAL(entry + (": " + std::string(to_string(static_cast<ErrorCode>(status)))),
              entry + std::string(": timeout"));
}

constexpr std::uint64_t short_times[] = {0, 1, 1000, 1000 * 1000};

ANYPLACE_CASE("ipc", "ipc.events", "a limited wait for another process's pending record is over in time",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) { record_on_demand(run, talk, 1); });
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = imported_event(backend, receive(second.talk()));
  second.talk().tell();
  second.talk().hear();
  MUST(backend, stream_wait_event, stream, event);
  for (const std::uint64_t timeout : short_times) {
    for (int i = 0; i < 3; ++i) {
      check_over_in_time(ENTRY(backend, event_synchronize, event, timeout), timeout, "event_synchronize");
      check_over_in_time(ENTRY(backend, stream_synchronize, stream, timeout), timeout, "stream_synchronize");
      check_over_in_time(ENTRY(backend, device_synchronize, backend.device(), timeout), timeout, "device_synchronize");
    }
  }
  second.talk().tell();
  second.talk().hear();
  for (const std::uint64_t timeout : short_times) {
    const anyplace_status status = ENTRY(backend, event_synchronize, event, timeout);
    if (!cannot_wait_so(status, timeout)) TableBackend::require(status, "event_synchronize", {__FILE__, __LINE__});
  }
  backend.synchronize(stream);
  MUST(backend, event_destroy, event);
  backend.destroy(stream);
  second.talk().tell();
  second.must_end_well();
}

/// Each is the largest number of some unit and width.
constexpr std::uint64_t long_times[] = {std::uint64_t{1'000'000'000} << 31, (std::uint64_t{1} << 63) - 1,
                                        std::uint64_t{1} << 63, ANYPLACE_FOREVER - 1, ANYPLACE_FOREVER};

ANYPLACE_CASE("ipc", "ipc.events", "the longest limits are enough for another process's record to be waited for",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) { record_on_demand(run, talk, std::size(long_times)); });
  const TableBackend backend(run);
  const anyplace_event event = imported_event(backend, receive(second.talk()));
  for (const std::uint64_t timeout : long_times) {
    second.talk().tell();
    second.talk().hear();
    std::atomic<bool> over{false};
    anyplace_status status = ANYPLACE_STATUS_OK;
    std::thread waiter([&] {
      status = ENTRY(backend, event_synchronize, event, timeout);
      over = true;
    });
    bool early = false;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    while (!early && std::chrono::steady_clock::now() < end) {
      early = over.load();
      std::this_thread::yield();
    }
    second.talk().tell();
    waiter.join();
    second.talk().hear();
    if (cannot_wait_so(status, timeout)) continue;
    if (early) check_failed(__FILE__, __LINE__, "event_synchronize returned while the record was pending");
    TableBackend::require(status, "event_synchronize", {__FILE__, __LINE__});
  }
  MUST(backend, event_destroy, event);
  second.talk().tell();
  second.must_end_well();
}

// ---- What is left behind

/// More than twice as many are made one after the other, so a table with so many places that aren't freed would be
/// full.
constexpr int past_thousands = 2100;

ANYPLACE_CASE("books", "process.books", "thousands of events that are shared leave nothing behind",
              Capability::interprocess_events) {
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  check_leaves_nothing(backend, past_thousands, 0, [&] {
    const anyplace_event event = backend.event(ANYPLACE_EVENT_INTERPROCESS);
    static_cast<void>(exported(backend, event));
    static_cast<void>(exported(backend, event));
    MUST(backend, event_record, event, stream);
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    MUST(backend, event_destroy, event);
  });
}

ANYPLACE_CASE("books", "process.books",
              "another process's event that is opened thousands of times leaves nothing behind",
              Capability::interprocess_events, Capability::host_functions) {
  Second second([&](const Talk& talk) { record_on_demand(run, talk, 1); });
  const TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_ipc_handle handle = receive(second.talk());
  check_leaves_nothing(backend, past_thousands, 0, [&] {
    const anyplace_event event = imported_event(backend, handle);
    std::int32_t done = 0;
    MUST(backend, stream_wait_event, stream, event);
    MUST(backend, event_query, event, &done);
    CHECK(done != 0);
    MUST(backend, event_destroy, event);
  });
  // When it is opened once more it is the same event.
  const anyplace_event event = imported_event(backend, handle);
  second.talk().tell();
  second.talk().hear();
  std::int32_t done = 1;
  MUST(backend, event_query, event, &done);
  CHECK(done == 0);
  second.talk().tell();
  second.talk().hear();
  MUST(backend, event_query, event, &done);
  CHECK(done != 0);
  MUST(backend, event_destroy, event);
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("books", "process.books", "thousands of streams that record another process's event leave nothing behind",
              Capability::interprocess_events) {
  Second second([&](const Talk& talk) { record_on_demand(run, talk, 0); });
  const TableBackend backend(run);
  const anyplace_event event = imported_event(backend, receive(second.talk()));
  check_leaves_nothing(backend, past_thousands, 0, [&] {
    const anyplace_stream stream = backend.stream();
    MUST(backend, event_record, event, stream);
    backend.synchronize(stream);
    backend.destroy(stream);
  });
  MUST(backend, event_destroy, event);
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("books", "process.books", "thousands of memories that are shared leave nothing behind",
              Capability::interprocess_memory) {
  const TableBackend backend(run);
  check_leaves_nothing(backend, past_thousands, block_bytes, [&] {
    const anyplace_address memory = backend.allocate(block_bytes, ANYPLACE_MEMORY_SHAREABLE);
    const anyplace_ipc_handle first = exported(backend, memory, block_bytes);
    const anyplace_ipc_handle second = exported(backend, memory, block_bytes);
    end_export(backend, memory, first);
    end_export(backend, memory, second);
    backend.free(memory);  // it is freed as DEVICE
  });
}

/// Runs in a process that shares `bytes` filled bytes of `memory` until it is told to stop.
void share(const TableBackend& backend, const Talk& talk, anyplace_address memory, std::uint64_t bytes) {
  const anyplace_stream stream = backend.stream();
  backend.fill(stream, memory, 7, bytes);
  anyplace_ipc_handle handle{};
  const anyplace_status status = try_export(backend, memory, bytes, &handle);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) handle = {};
  if (status != ANYPLACE_STATUS_UNSUPPORTED) TableBackend::require(status, "memory_export", {__FILE__, __LINE__});
  send(talk, handle);
  talk.hear();
  if (status == ANYPLACE_STATUS_OK) end_export(backend, memory, handle);
  backend.destroy(stream);
}

void check_opened_again_and_again(const TableBackend& backend, const anyplace_ipc_handle& handle, int times,
                                  std::uint64_t bytes) {
  check_leaves_nothing(backend, times, bytes, [&] {
    const anyplace_address memory = imported_memory(backend, handle);
    MUST(backend, memory_import_end, backend.device(), memory);
  });
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = imported_memory(backend, handle);
  CHECK_BYTES(backend.read(stream, memory + handle.offset, bytes), Bytes(static_cast<std::size_t>(bytes), 7));
  MUST(backend, memory_import_end, backend.device(), memory);
  backend.destroy(stream);
}

ANYPLACE_CASE("books", "process.books",
              "another process's memory that is opened thousands of times leaves nothing behind",
              Capability::interprocess_memory) {
  Second second([&](const Talk& talk) {
    const TableBackend backend(run);
    const anyplace_address memory = backend.allocate(block_bytes, ANYPLACE_MEMORY_SHAREABLE);
    share(backend, talk, memory, block_bytes);
    backend.free(memory);  // it is freed as DEVICE
  });
  const TableBackend backend(run);
  const anyplace_ipc_handle handle = receive(second.talk());
  CHECK(handle.byte_count > 0);  // SHAREABLE memory can be shared
  check_opened_again_and_again(backend, handle, past_thousands, block_bytes);
  second.talk().tell();
  second.must_end_well();
}

ANYPLACE_CASE("books", "process.books",
              "another process's mapped memory that is opened and closed leaves nothing behind",
              Capability::interprocess_memory, Capability::virtual_memory) {
  constexpr std::uint64_t pieces = 3;
  Second second([&](const Talk& talk) {
    const TableBackend backend(run);
    std::uint64_t granule = 0;
    anyplace_address range = 0;
    MUST(backend, virtual_granularity, backend.device(), &granule);
    MUST(backend, virtual_reserve, backend.device(), pieces * granule, &range);
    for (std::uint64_t i = 0; i < pieces; ++i) {
      anyplace_physical memory = 0;
      MUST(backend, physical_create, backend.device(), granule, &memory);
      MUST(backend, virtual_map, backend.device(), range + i * granule, memory);
      MUST(backend, physical_destroy, memory);
    }
    share(backend, talk, range, pieces * granule);
    MUST(backend, virtual_unmap, backend.device(), range, pieces * granule);
    MUST(backend, virtual_release, backend.device(), range, pieces * granule);
  });
  const TableBackend backend(run);
  std::uint64_t granule = 0;
  MUST(backend, virtual_granularity, backend.device(), &granule);
  const anyplace_ipc_handle handle = receive(second.talk());
  if (handle.byte_count > 0) check_opened_again_and_again(backend, handle, 50, pieces * granule);
  second.talk().tell();
  second.must_end_well();
  if (handle.byte_count == 0) skip("mapped memory that can be shared");
}

// ---- The device's figures

/// Half of the free memory. Skips the case if the vendor can't tell it.
std::uint64_t half_of_memory(const TableBackend& backend) {
  const anyplace_memory_info info = backend.memory(backend.device());
  if (info.free_bytes == ANYPLACE_UNKNOWN || info.total_bytes == ANYPLACE_UNKNOWN) {
    skip("figures that the vendor can tell");
  }
  return info.free_bytes / 2 / block_bytes * block_bytes;
}

ANYPLACE_CASE("ipc", "memory.figures", "shareable memory isn't said to be free, exported or not, until it is freed",
              Capability::interprocess_memory) {
  const TableBackend backend(run);
  const std::uint64_t bytes = half_of_memory(backend);
  const auto check_taken = [&](Caller caller = {}) {
    const anyplace_memory_info info = backend.memory(backend.device(), caller);
    step(caller.file, caller.line, "device_memory");
    check_equal(info.free_bytes <= info.total_bytes - bytes, true, caller.file, caller.line,
                "no more is free than the total without what is allocated");
  };
  for (int round = 0; round < 4; ++round) {
    const anyplace_address memory = backend.allocate(bytes, ANYPLACE_MEMORY_SHAREABLE);
    check_taken();
    if (round % 2 == 0) {
      const anyplace_ipc_handle handle = exported(backend, memory, bytes);
      check_taken();
      end_export(backend, memory, handle);
      check_taken();
    }
    backend.free(memory);  // it is freed as DEVICE
    // The memory of one kind must be available for the other kind again.
    const anyplace_address device_memory = backend.allocate(bytes);
    check_taken();
    backend.free(device_memory);
  }
}

}  // namespace
}  // namespace anyplace::conformance::ipc_table_cases
