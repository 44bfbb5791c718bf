// SPDX-License-Identifier: Apache-2.0
//
// Gates: a wait for a gate holds back later work until the gate is opened, by any thread, before the wait or after it.
#include <atomic>

#include "table_backend.h"

namespace anyplace::conformance::gates_cases {
namespace {

anyplace_gate new_gate(const TableBackend& backend, Caller caller = {}) {
  anyplace_gate gate = 0;
  step(caller.file, caller.line, "gate_create");
  TableBackend::require(backend.table().gate_create(backend.self(), backend.device(), &gate), "gate_create", caller);
  if (gate == 0) check_failed(caller.file, caller.line, "gate_create gives the null handle");
  return gate;
}

bool idle(const TableBackend& backend, anyplace_stream stream) {
  std::int32_t done = 0;
  MUST(backend, stream_query, stream, &done);
  return done != 0;
}

ANYPLACE_CASE("gates", "streams.gates", "a wait for a gate that is already open holds nothing back",
              Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  const anyplace_gate gate = new_gate(backend);
  MUST(backend, gate_open, gate);
  MUST(backend, stream_wait_gate, stream, gate);
  backend.fill(stream, memory, 3, 4096);
  CHECK_BYTES(backend.read(stream, memory, 4096), Bytes(4096, 3));
  MUST(backend, gate_destroy, gate);
}

ANYPLACE_CASE("gates", "streams.gates", "an open gate ends the waits for it, earlier and later ones",
              Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream before[3] = {backend.stream(), backend.stream(), backend.stream()};
  const anyplace_stream after[3] = {backend.stream(), backend.stream(), backend.stream()};
  const anyplace_gate gate = new_gate(backend);
  for (const anyplace_stream stream : before) MUST(backend, stream_wait_gate, stream, gate);
  MUST(backend, gate_open, gate);
  for (const anyplace_stream stream : after) MUST(backend, stream_wait_gate, stream, gate);
  for (const anyplace_stream stream : after) backend.synchronize(stream);
  for (const anyplace_stream stream : before) backend.synchronize(stream);
  for (const anyplace_stream stream : before) MUST(backend, stream_wait_gate, stream, gate);
  for (const anyplace_stream stream : before) backend.synchronize(stream);
  MUST(backend, gate_destroy, gate);
}

ANYPLACE_CASE("gates", "streams.gates", "a closed gate holds back what comes after the wait and nothing before",
              Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_event early = backend.event();
  const anyplace_event late = backend.event();
  const anyplace_address memory = backend.allocate(4096);
  const anyplace_gate gate = new_gate(backend);
  MUST(backend, memory_set, stream, memory, 1, 1, 4096);
  MUST(backend, event_record, early, stream);
  MUST(backend, stream_wait_gate, stream, gate);
  MUST(backend, memory_set, stream, memory, 2, 1, 4096);
  MUST(backend, event_record, late, stream);
  MUST(backend, event_synchronize, early, ANYPLACE_FOREVER);
  std::int32_t done = 0;
  CHECK_STAYS_FALSE(idle(backend, stream));
  MUST(backend, event_query, late, &done);
  CHECK_EQUAL(done, 0);
  CHECK_BYTES(backend.read(other, memory, 4096), Bytes(4096, 1));
  MUST(backend, gate_open, gate);
  MUST(backend, event_synchronize, late, ANYPLACE_FOREVER);
  CHECK_BYTES(backend.read(other, memory, 4096), Bytes(4096, 2));
  MUST(backend, gate_destroy, gate);
}

ANYPLACE_CASE("gates", "streams.gates", "opening one gate opens no other", Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_gate first = new_gate(backend);
  const anyplace_gate second = new_gate(backend);
  MUST(backend, stream_wait_gate, stream, first);
  MUST(backend, stream_wait_gate, stream, second);
  MUST(backend, gate_open, first);
  CHECK_STAYS_FALSE(idle(backend, stream));
  MUST(backend, gate_open, second);
  backend.synchronize(stream);
  // A new gate may be at the address of an old one.
  MUST(backend, gate_destroy, first);
  MUST(backend, gate_destroy, second);
  const anyplace_gate third = new_gate(backend);
  MUST(backend, stream_wait_gate, stream, third);
  CHECK_STAYS_FALSE(idle(backend, stream));
  MUST(backend, gate_open, third);
  backend.synchronize(stream);
  MUST(backend, gate_destroy, third);
}

ANYPLACE_CASE("gates", "streams.gates", "a gate may be destroyed at once when it is open, with waits pending",
              Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream streams[3] = {backend.stream(), backend.stream(), backend.stream()};
  for (int round = 0; round < 200; ++round) {
    const anyplace_gate gate = new_gate(backend);
    for (const anyplace_stream stream : streams) MUST(backend, stream_wait_gate, stream, gate);
    MUST(backend, gate_open, gate);
    MUST(backend, gate_destroy, gate);
  }
  for (const anyplace_stream stream : streams) backend.synchronize(stream);
}

ANYPLACE_CASE("gates", "streams.gates", "a host function may open a gate", Capability::gates,
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream opener = backend.stream();
  const anyplace_stream waiter = backend.stream();
  for (int round = 0; round < 50; ++round) {
    const anyplace_gate gate = new_gate(backend);
    MUST(backend, stream_wait_gate, waiter, gate);
    std::atomic<anyplace_status> opened{ANYPLACE_STATUS_INTERNAL};
    submit(backend, opener, [&] { opened = backend.table().gate_open(backend.self(), gate); });
    backend.synchronize(waiter);
    backend.synchronize(opener);
    TableBackend::require(opened, "gate_open in a host function", {__FILE__, __LINE__});
    MUST(backend, gate_destroy, gate);
  }
}

ANYPLACE_CASE("gates", "streams.gates", "a stream that waits for a gate may be destroyed, and its work completes",
              Capability::gates) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream other = backend.stream();
  const anyplace_address memory = backend.allocate(4096);
  backend.fill(other, memory, 1, 4096);
  const anyplace_gate gate = new_gate(backend);
  MUST(backend, stream_wait_gate, stream, gate);
  MUST(backend, memory_set, stream, memory, 2, 1, 4096);
  backend.destroy(stream);
  CHECK_BYTES(backend.read(other, memory, 4096), Bytes(4096, 1));
  MUST(backend, gate_open, gate);
  MUST(backend, gate_destroy, gate);
  MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  CHECK_BYTES(backend.read(other, memory, 4096), Bytes(4096, 2));
}

}  // namespace
}  // namespace anyplace::conformance::gates_cases
