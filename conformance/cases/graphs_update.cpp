// SPDX-License-Identifier: Apache-2.0
// Graphs: updates and refused calls.
#include <functional>
#include <memory>
#include <thread>

#include "support.h"

namespace anyplace::conformance::graphs_update_cases {
namespace {

constexpr std::uint64_t bytes = 1 << 14;

Bytes all_of(std::uint8_t value) { return Bytes(bytes, value); }

bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

// ---- Updates

/// A graph that writes its number to `to` by one kind of work.
struct Updated {
  std::string label;
  std::vector<Capability> needs;
  std::function<Graph(const Stream& stream, BufferView to, const std::vector<Buffer>& from, std::uint8_t number)> make;
};

const std::vector<Updated> updated = {
    {"fills",
     {},
     [](const Stream& stream, BufferView to, const std::vector<Buffer>&, std::uint8_t number) {
       Graph graph(stream.device());
       // There are two halves, so that an update that is half applied shows.
       graph.add_memset8({}, to.sub(0, bytes / 2), number);
       graph.add_memset8({}, to.sub(bytes / 2, bytes / 2), number);
       return graph;
     }},
    {"copies",
     {},
     [](const Stream& stream, BufferView to, const std::vector<Buffer>& from, std::uint8_t number) {
       Graph graph(stream.device());
       graph.add_copy(graph.add_empty({}), to, from[number]);
       return graph;
     }},
    {"pitched copies",
     {},
     [](const Stream& stream, BufferView to, const std::vector<Buffer>& from, std::uint8_t number) {
       Graph graph(stream.device());
       graph.add_copy_2d({}, to, 64, from[number], 64, 32, bytes / 64);
       graph.add_copy_2d({}, to.sub(32, bytes - 32), 64, from[number].sub(32, bytes - 32), 64, 32, bytes / 64);
       return graph;
     }},
    {"callables' arguments",
     {Capability::host_kernels},
     [](const Stream& stream, BufferView to, const std::vector<Buffer>&, std::uint8_t number) {
       const Kernel kernel(stream.device(), [](const Block& block, std::uint8_t* out, std::uint8_t value) {
         for (std::uint64_t i = 0; i < 256; ++i) out[block.index().x * 256 + i] = value;
       });
       Graph graph(stream.device());
       graph.add_kernel({}, kernel, {static_cast<std::uint32_t>(bytes / 256), 1}, to, number);
       return graph;
     }},
};

ANYPLACE_CASES(updated, "graphs", "graphs.update", "{} change for later launches and not for earlier ones",
               Capability::host_functions) {
  for (const Capability needed : parameter.needs) run.need(needed);
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer to = filled(stream, bytes, 0);
  const Buffer seen = filled(stream, 3 * bytes, 0);
  std::vector<Buffer> from;
  for (std::uint8_t number = 0; number < 4; ++number) from.push_back(filled(stream, bytes, number));
  const auto make = [&](std::uint8_t number) { return parameter.make(stream, to, from, number); };
  const GraphExec exec = CALL(make(1).instantiate());
  gate.hold(stream);
  for (std::uint8_t number = 1; number <= 3; ++number) {
    if (number > 1) CALL(exec.update(make(number)));
    CALL(exec.launch(stream));
    CALL(stream.copy(seen.sub((number - 1u) * bytes, bytes), to));
  }
  gate.open();
  Bytes expected = all_of(1);
  for (std::uint8_t number = 2; number <= 3; ++number) expected.insert(expected.end(), bytes, number);
  CHECK_BYTES(read(stream, seen), expected);
}

ANYPLACE_CASE("graphs", "graphs.update", "host functions change for later launches and not for earlier ones",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  std::vector<int> called;
  const auto make = [&](int number) {
    Graph graph(device);
    graph.add_host_function(graph.add_host_function({}, [&called, number] { called.push_back(number); }),
                            [&called, number] { called.push_back(10 * number); });
    return graph;
  };
  const GraphExec exec = CALL(make(1).instantiate());
  gate.hold(stream);
  CALL(exec.launch(stream));
  CALL(exec.launch(stream));
  CALL(exec.update(make(2)));
  CALL(exec.launch(stream));
  CALL(exec.update(make(3)));
  CALL(exec.update(make(4)));
  CALL(exec.launch(stream));
  gate.open();
  CALL(stream.synchronize());
  CHECK(called == std::vector<int>({1, 10, 1, 10, 2, 20, 4, 40}));
}

ANYPLACE_CASE("graphs", "graphs.update", "an update with other nodes is refused, and the graph does what it did") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Buffer other = filled(stream, bytes, 9);
  const auto make = [&](std::uint8_t value) {
    Graph graph(device);
    graph.add_memset8(graph.add_memset8({}, buffer, 0), buffer, value);
    return graph;
  };
  const GraphExec exec = CALL(make(2).instantiate());
  Graph of_another_kind(device);
  of_another_kind.add_copy(of_another_kind.add_memset8({}, buffer, 0), buffer, other);
  CHECK(says(CHECK_ERROR(invalid_argument, exec.update(of_another_kind)), "node 1"));
  Graph with_another_order(device);
  with_another_order.add_memset8({}, buffer, 0);
  with_another_order.add_memset8({}, buffer, 5);
  CHECK(says(CHECK_ERROR(invalid_argument, exec.update(with_another_order)), "node 1"));
  Graph with_more = make(6);
  with_more.add_empty({});
  CHECK_ERROR(invalid_argument, exec.update(with_more));
  CHECK_ERROR(invalid_argument, exec.update(Graph(device)));
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(2));
  CALL(exec.update(make(3)));
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.update", "an executable graph is a copy: later nodes of the graph aren't in it") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  Graph graph(device);
  const GraphNode first = graph.add_memset8({}, buffer, 2);
  const GraphExec before = CALL(graph.instantiate());
  graph.add_memset8(first, buffer, 3);
  const GraphExec after = CALL(graph.instantiate());
  CALL(before.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(2));
  CALL(after.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.update",
              "what an update replaced is released once its launches are done, though others aren't",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const auto make = [&](std::shared_ptr<int> kept) {
    Graph graph(device);
    graph.add_host_function({}, [kept] { ++*kept; });
    return graph;
  };
  auto first = std::make_shared<int>(0);
  const auto second = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = first;
  const GraphExec exec = CALL(make(first).instantiate());
  first.reset();
  CALL(exec.launch(stream));
  CALL(stream.synchronize());
  CALL(exec.update(make(second)));
  gate.hold(stream);
  // From here on a launch is always pending.
  for (int round = 0; round < 3; ++round) {
    CALL(exec.launch(stream));
    CALL(exec.update(make(second)));
  }
  step(__FILE__, __LINE__, "waiting for the first function to be let go");
  while (!watch.expired()) std::this_thread::yield();
  gate.open();
  CALL(stream.synchronize());
  CHECK_EQUAL(*second, 3);
}

ANYPLACE_CASE("graphs", "graphs.update", "later launches record the event of the update, and earlier ones their own",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Event first = CALL(Event(device));
  const Event second = CALL(Event(device));
  const auto make = [&](const Event& event) {
    Graph graph(device);
    graph.add_event_record(graph.add_empty({}), event);
    return graph;
  };
  const GraphExec exec = CALL(make(first).instantiate());
  {
    HostGate gate;
    gate.hold(stream);
    CALL(exec.launch(stream));
    CALL(exec.update(make(second)));
    CHECK(!CALL(first.query()));
    CHECK(CALL(second.query()));
    CALL(exec.launch(stream));
    CHECK(!CALL(second.query()));
    gate.open();
    CALL(second.synchronize());
    CHECK(CALL(first.query()));
  }
  HostGate gate;
  gate.hold(stream);
  CALL(exec.launch(stream));
  CHECK(CALL(first.query()));
  CHECK(!CALL(second.query()));
  gate.open();
  CALL(second.synchronize());
}

ANYPLACE_CASE("graphs", "graphs.update", "later launches wait for the event of the update, and earlier ones for theirs",
              Capability::host_functions) {
  HostGate gate;
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream held = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 0);
  const Event first = CALL(Event(device));
  const Event second = CALL(Event(device));
  const auto make = [&](const Event& event, std::uint8_t value) {
    Graph graph(device);
    graph.add_memset8(graph.add_event_wait({}, event), buffer, value);
    return graph;
  };
  const GraphExec exec = CALL(make(first, 1).instantiate());
  gate.hold(held);
  CALL(first.record(held));
  CALL(exec.update(make(second, 2)));
  CALL(exec.launch(stream));
  CHECK(CALL(stream.synchronize(std::chrono::hours(1))));
  CHECK_BYTES(read(buffer), all_of(2));
  CALL(exec.update(make(first, 3)));
  CALL(exec.launch(stream));
  CALL(exec.update(make(second, 4)));
  CHECK_STAYS_FALSE(stream.query() || read(buffer) != all_of(2));
  gate.open();
  CHECK_BYTES(read(stream, buffer), all_of(3));
}

// ---- Refusals

/// A call that can't become part of a graph.
struct Refused {
  std::string label;
  std::function<void(const Stream& captured, const Event& recorded)> call;
};
const std::vector<Refused> refused = {
    {"waiting for the stream", [](const Stream& stream, const Event&) { stream.synchronize(); }},
    {"asking the stream", [](const Stream& stream, const Event&) { static_cast<void>(stream.query()); }},
    {"waiting for an event of the capture", [](const Stream&, const Event& event) { event.synchronize(); }},
    {"asking an event of the capture", [](const Stream&, const Event& event) { static_cast<void>(event.query()); }},
    {"waiting for the device", [](const Stream& stream, const Event&) { stream.device().synchronize(); }},
    {"a wait for what was recorded outside",
     [](const Stream& stream, const Event&) {
       const Stream other(stream.device());
       stream.wait_stream(other);
     }},
    {"a wait of the null stream",
     [](const Stream& stream, const Event& event) { stream.device().default_stream().wait_event(event); }},
    {"memory for another stream",
     [](const Stream& stream, const Event&) { const Buffer buffer(stream.device().default_stream(), 4096); }},
};

ANYPLACE_CASES(refused, "graphs", "graphs.refusals", "{} is refused and ends the capture") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Event recorded = CALL(Event(device));
  CALL(stream.begin_capture());
  CALL(stream.memset8(buffer, 9));
  CALL(recorded.record(stream));
  CHECK_ERROR(capturing, parameter.call(stream, recorded));
  CHECK(stream.capture_status() == CaptureStatus::invalidated);
  CHECK_ERROR(capture_invalidated, stream.memset8(buffer, 9));
  CHECK_ERROR(capture_invalidated, stream.end_capture());
  // The stream is as it was before.
  CHECK(stream.capture_status() == CaptureStatus::none);
  CALL(stream.memset8(buffer, 2));
  CHECK_BYTES(read(stream, buffer), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.refusals", "a captured stream that nothing waits for ends the capture with an error") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream joined = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  CALL(stream.begin_capture());
  CALL(stream.memset8(buffer, 9));
  CALL(joined.wait_stream(stream));
  CALL(joined.memset8(buffer, 9));
  CHECK_ERROR(capture_invalidated, stream.end_capture());
  CHECK(!joined.is_capturing());
  CALL(joined.memset8(buffer, 2));
  CHECK_BYTES(read(joined, buffer), all_of(2));
}

ANYPLACE_CASE("graphs", "graphs.refusals", "captures begin and end once, on their stream and thread") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  CHECK_ERROR(capturing, stream.end_capture());
  CHECK_ERROR(invalid_argument, device.default_stream().begin_capture());
  CALL(stream.begin_capture());
  CHECK_ERROR(capturing, stream.begin_capture());
  CHECK_ERROR(capturing, other.end_capture());
  static_cast<void>(CALL(stream.end_capture()));
  CALL(stream.begin_capture());
  run_threads(1, [&](int) { CHECK_ERROR(capturing, stream.end_capture()); });
  CHECK_ERROR(capture_invalidated, stream.end_capture());
  CALL(stream.begin_capture(CaptureMode::relaxed));
  run_threads(1, [&](int) { static_cast<void>(CALL(stream.end_capture())); });
}

ANYPLACE_CASE("graphs", "graphs.refusals", "the mode of a capture says which threads may allocate memory meanwhile") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  const auto allocate = [&] { const Buffer buffer = CALL(Buffer(other, 1 << 20)); };
  CALL(stream.begin_capture(CaptureMode::global));
  run_threads(1, [&](int) { CHECK_ERROR(capturing, allocate()); });
  CHECK_ERROR(capture_invalidated, stream.end_capture());
  CALL(stream.begin_capture(CaptureMode::thread_local_));
  run_threads(1, [&](int) { allocate(); });
  CHECK_ERROR(capturing, allocate());
  CHECK_ERROR(capture_invalidated, stream.end_capture());
  CALL(stream.begin_capture(CaptureMode::relaxed));
  allocate();
  static_cast<void>(CALL(stream.end_capture()));
}

ANYPLACE_CASE("graphs", "graphs.refusals",
              "a node of a wrong size or range is refused when it is made, and isn't added") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer small = filled(stream, 64, 1);
  const Buffer large = filled(stream, bytes, 2);
  Graph graph(device);
  const GraphNode first = graph.add_empty({});
  CHECK_ERROR(invalid_argument, graph.add_copy(first, small, large));
  CHECK_ERROR(invalid_argument, graph.add_memset32(first, small.sub(1, 4), 0));
  CHECK_ERROR(invalid_argument, graph.add_copy_2d(first, small, 8, large, 4, 8, 4));
  if (device.has(Capability::host_functions)) {
    CHECK_ERROR(invalid_argument, graph.add_host_function(first, std::function<void()>()));
  }
  CHECK_EQUAL(graph.size(), 1u);
  Graph another(device);
  CHECK_ERROR(invalid_argument, another.add_empty(first));
  CHECK_ERROR(invalid_argument, another.add_child_graph({}, another));
  CALL(graph.add_memset8(first, small, 5));
  CALL(graph.instantiate().launch(stream));
  CHECK_BYTES(read(stream, small), Bytes(64, 5));
}

ANYPLACE_CASE("graphs", "graphs.refusals", "a launch whose event was last recorded in a capture is refused whole") {
  const Device device = run.device();
  const Stream captured = CALL(Stream(device));
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, bytes, 1);
  const Event event = CALL(Event(device));
  Graph graph(device);
  graph.add_memset8(graph.add_event_wait(graph.add_memset8({}, buffer, 2), event), buffer, 3);
  const GraphExec exec = CALL(graph.instantiate());
  CALL(captured.begin_capture(CaptureMode::relaxed));
  CALL(event.record(captured));
  CHECK_ERROR(capturing, exec.launch(stream));
  CHECK(!stream.is_capturing());
  CHECK_ERROR(capture_invalidated, captured.end_capture());
  CHECK_BYTES(read(stream, buffer), all_of(1));
  CALL(event.record(captured));
  CALL(exec.launch(stream));
  CHECK_BYTES(read(stream, buffer), all_of(3));
}

ANYPLACE_CASE("graphs", "graphs.refusals", "null graphs are refused, not crashed on") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  Graph graph(device);
  const Graph moved = std::move(graph);
  CHECK_ERROR(invalid_handle, graph.add_empty({}));
  CHECK_ERROR(invalid_handle, graph.instantiate());
  GraphExec exec = CALL(moved.instantiate());
  const GraphExec kept = std::move(exec);
  CHECK_ERROR(invalid_handle, exec.launch(stream));
  CHECK_ERROR(invalid_handle, exec.update(moved));
  CHECK_ERROR(invalid_handle, kept.update(graph));
  CHECK_ERROR(invalid_handle, kept.launch(StreamView()));
  CALL(kept.launch(stream));
}

}  // namespace
}  // namespace anyplace::conformance::graphs_update_cases
