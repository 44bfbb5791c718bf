// SPDX-License-Identifier: Apache-2.0
//
// Long lives at the table: the thousandth submission, record, wait, launch and handle behaves as the first. It finds a
// ring that is full, a pool that has used all its places, a counter of twelve bits: each works until then.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "table_graph.h"
#include "table_module.h"

namespace anyplace::conformance::lengths_cases {
namespace {

/// More than the places of any ring or pool with which a backend is likely to begin.
constexpr std::uint64_t many = 4500;

/// The value of a one-byte cell; each piece of work writes one cell.
std::uint8_t value_of(std::uint64_t cell) { return static_cast<std::uint8_t>(1 + cell % 251); }
Bytes all_values() {
  Bytes values;
  for (std::uint64_t cell = 0; cell < many; ++cell) values.push_back(value_of(cell));
  return values;
}

/// Holds a stream back until the case has submitted everything, or until nothing more can be submitted: some vendors'
/// queues have room for a thousand pieces of work, and block whoever submits another.
class HeldUntilFull {
 public:
  HeldUntilFull(const TableBackend& backend, anyplace_stream stream, bool really) : hold_(backend) {
    if (!really) return;
    hold_.hold(stream);
    opener_ = std::thread([this] { open_when_full(); });
  }
  HeldUntilFull(const HeldUntilFull&) = delete;  // its thread uses its address
  HeldUntilFull& operator=(const HeldUntilFull&) = delete;
  ~HeldUntilFull() { open(); }

  void submitted() noexcept { ++submitted_; }
  void open() {
    finished_ = true;
    if (opener_.joinable()) opener_.join();
  }

 private:
  void open_when_full() {
    std::uint64_t seen = 0;
    auto since = std::chrono::steady_clock::now();
    while (!finished_ && std::chrono::steady_clock::now() - since < std::chrono::milliseconds(500)) {
      const std::uint64_t now = submitted_;
      if (now != seen) since = std::chrono::steady_clock::now();
      seen = now;
      std::this_thread::yield();
    }
    hold_.open();
  }

  TableHold hold_;
  std::atomic<std::uint64_t> submitted_{0};
  std::atomic<bool> finished_{false};
  std::thread opener_;
};

struct Held {
  std::string label;
  bool held;
};
const std::vector<Held> as_it_comes_or_held = {{"as they come", false}, {"behind work that is held back", true}};

// ---- Submissions

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "streams.order",
               "thousands of copies of one stream run in their order, {}") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address chain = backend.allocate(many + 1);
  backend.fill(stream, chain, 0, many + 1);
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    MUST(backend, memory_set, stream, chain, 7, 1, 1);
    // A copy that is left out or runs too early breaks the chain.
    for (std::uint64_t i = 0; i < many; ++i) {
      MUST(backend, memory_copy, stream, chain + i + 1, chain + i, 1, ANYPLACE_COPY_DEVICE_TO_DEVICE);
      hold.submitted();
    }
  }
  CHECK_BYTES(backend.read(stream, chain, many + 1), Bytes(many + 1, 7));
}

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "streams.order", "thousands of fills of one stream all run, {}") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address cells = backend.allocate(many);
  backend.fill(stream, cells, 0, many);
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    for (std::uint64_t i = 0; i < many; ++i) {
      MUST(backend, memory_set, stream, cells + i, value_of(i), 1, 1);
      hold.submitted();
    }
  }
  CHECK_BYTES(backend.read(stream, cells, many), all_values());
}

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "streams.host_functions",
               "thousands of host functions of one stream run once each and in their order, {}",
               Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> wrong{0};
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    for (std::uint64_t i = 0; i < many; ++i) {
      submit(backend, stream, [&next, &wrong, i] { wrong += next++ == i ? 0 : 1; });
      hold.submitted();
    }
  }
  backend.synchronize(stream);
  CHECK_EQUAL(next.load(), many);
  CHECK_EQUAL(wrong.load(), 0u);
}

/// A host kernel that is launched with the numbers from 0 on.
struct Counted {
  std::atomic<std::uint64_t> next{0};
  std::atomic<std::uint64_t> wrong{0};
};
anyplace_status count_launch(void* user, const anyplace_block*, void* const* arguments, const std::uint32_t*,
                             std::uint32_t) {
  Counted& counted = *static_cast<Counted*>(user);
  std::uint64_t number = 0;
  std::memcpy(&number, arguments[0], sizeof(number));
  counted.wrong += counted.next++ == number ? 0 : 1;
  return ANYPLACE_STATUS_OK;
}

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "kernels.launch",
               "thousands of launches of a callable run once each and in their order, {}", Capability::host_kernels) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  Counted counted;
  const anyplace_kernel kernel = backend.kernel(count_launch, &counted);
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    for (std::uint64_t i = 0; i < many; ++i) {
      const std::uint64_t number = i;
      const anyplace_argument argument{ANYPLACE_ARGUMENT_VALUE, sizeof(number), &number};
      anyplace_launch launch = launch_of(1);
      launch.argument_count = 1;
      launch.arguments = &argument;
      MUST(backend, kernel_launch, stream, kernel, &launch);
      hold.submitted();
    }
  }
  backend.synchronize(stream);
  CHECK_EQUAL(counted.next.load(), many);
  CHECK_EQUAL(counted.wrong.load(), 0u);
  MUST(backend, kernel_destroy, kernel);
}

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "kernels.launch",
               "thousands of launches of a module's kernel each have their own arguments, {}", Capability::modules,
               test_module) {
  TableBackend backend(run);
  const TableImage image(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address cells = backend.allocate(many * 4);
  backend.fill(stream, cells, 0, many * 4);
  anyplace_module module = 0;
  anyplace_kernel kernel = 0;
  const anyplace_module_desc desc = image.desc();
  MUST(backend, module_load, backend.device(), &desc, &module);
  MUST(backend, module_kernel, module, "fill", &kernel);
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    for (std::uint32_t i = 0; i < many; ++i) {
      FillLaunch fill(cells + std::uint64_t{i} * 4, 1, 0x01000000 + i);
      MUST(backend, kernel_launch, stream, kernel, &fill.launch());
      hold.submitted();
    }
  }
  Bytes expected;
  for (std::uint32_t i = 0; i < many; ++i) {
    const std::uint32_t value = 0x01000000 + i;
    expected.resize(expected.size() + 4);
    std::memcpy(&expected[expected.size() - 4], &value, 4);
  }
  CHECK_BYTES(backend.read(stream, cells, many * 4), expected);
  MUST(backend, module_unload, module);
}

// ---- Events

bool is_done(const TableBackend& backend, anyplace_event event) {
  std::int32_t done = -1;
  MUST(backend, event_query, event, &done);
  return done != 0;
}

ANYPLACE_CASE("lengths", "events.record", "each of thousands of records of one event is pending until its work is done",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  for (std::uint64_t i = 0; i < many; ++i) {
    TableHold hold(backend);
    hold.hold(stream);
    MUST(backend, event_record, event, stream);
    CHECK(!is_done(backend, event));
    hold.open();
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    CHECK(is_done(backend, event));
  }
}

ANYPLACE_CASE("lengths", "streams.wait_event", "each of thousands of waits holds its stream back",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream producer = backend.stream();
  const anyplace_event event = backend.event();
  // Each stream has one wait in a round, so that none is held back by another wait.
  std::vector<anyplace_stream> waiters;
  for (int i = 0; i < 25; ++i) waiters.push_back(backend.stream());
  const anyplace_address source = backend.allocate(1);
  const anyplace_address results = backend.allocate(waiters.size());
  for (std::uint64_t round = 0; round < many / waiters.size(); ++round) {
    const auto value = static_cast<std::uint8_t>(round);
    TableHold hold(backend);
    hold.hold(producer);
    MUST(backend, memory_set, producer, source, value, 1, 1);
    for (std::size_t i = 0; i < waiters.size(); ++i) {
      MUST(backend, event_record, event, producer);
      MUST(backend, stream_wait_event, waiters[i], event);
      MUST(backend, memory_copy, waiters[i], results + i, source, 1, ANYPLACE_COPY_DEVICE_TO_DEVICE);
    }
    for (const anyplace_stream waiter : waiters) {
      std::int32_t idle = 0;
      MUST(backend, stream_query, waiter, &idle);
      CHECK_EQUAL(idle, 0);
    }
    hold.open();
    for (const anyplace_stream waiter : waiters) backend.synchronize(waiter);
    CHECK_BYTES(backend.read(producer, results, waiters.size()), Bytes(waiters.size(), value));
  }
}

ANYPLACE_CASE("lengths", "streams.wait_event", "two streams hand work to each other thousands of times") {
  TableBackend backend(run);
  const anyplace_stream streams[2] = {backend.stream(), backend.stream()};
  const anyplace_event events[2] = {backend.event(), backend.event()};
  const anyplace_address chain = backend.allocate(many + 1);
  backend.fill(streams[0], chain, 0, many + 1);
  backend.fill(streams[0], chain, 7, 1);
  for (std::uint64_t i = 0; i < many; ++i) {
    const std::size_t now = i % 2;
    MUST(backend, memory_copy, streams[now], chain + i + 1, chain + i, 1, ANYPLACE_COPY_DEVICE_TO_DEVICE);
    MUST(backend, event_record, events[now], streams[now]);
    MUST(backend, stream_wait_event, streams[1 - now], events[now]);
  }
  for (const anyplace_stream stream : streams) backend.synchronize(stream);
  CHECK_BYTES(backend.read(streams[0], chain, many + 1), Bytes(many + 1, 7));
}

ANYPLACE_CASE("lengths", "events.record", "thousands of events exist at once, each with a record of its own") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(64);
  std::vector<anyplace_event> events;
  for (std::uint64_t i = 0; i < many; ++i) {
    events.push_back(backend.event());
    MUST(backend, memory_set, stream, memory, 1, 1, 64);
    MUST(backend, event_record, events.back(), stream);
  }
  backend.synchronize(stream);
  // If two events shared a place, both would be pending now.
  constexpr std::uint64_t pending = many - 500;
  {
    TableHold hold(backend);
    hold.hold(stream);
    for (std::uint64_t i = pending; i < many; ++i) MUST(backend, event_record, events[i], stream);
    for (std::uint64_t i = 0; i < many; ++i) CHECK_EQUAL(is_done(backend, events[i]), i < pending);
  }
  for (const anyplace_event event : events) {
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    CHECK(is_done(backend, event));
    MUST(backend, event_destroy, event);
  }
}

// ---- Graphs

ANYPLACE_CASES(as_it_comes_or_held, "lengths", "graphs.launch",
               "thousands of launches of one graph run once each and in their order, {}", Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const std::uint64_t launches = parameter.held ? 1500 : many;  // a launch has several pieces of work
  // Each launch moves the line by a byte, and so shows how many launches there were.
  const anyplace_address line = backend.allocate(many + 64);
  const anyplace_address shadow = backend.allocate(many + 64);
  backend.fill(stream, line, 0, many + 64);
  backend.fill(stream, line, 9, 1);
  GraphDescription description;
  description.copy_within(shadow, line, many + 63, backend.device());
  description.copy_within(line + 1, shadow, many + 63, backend.device(), {0});
  description.fill(line, 0, 1, 1, {1});
  const anyplace_graph graph = create_graph(backend, description);
  {
    HeldUntilFull hold(backend, stream, parameter.held);
    for (std::uint64_t i = 0; i < launches; ++i) {
      MUST(backend, graph_launch, graph, stream);
      hold.submitted();
    }
  }
  Bytes expected(many + 64, 0);
  expected[launches] = 9;
  CHECK_BYTES(backend.read(stream, line, many + 64), expected);
  MUST(backend, graph_destroy, graph);
}

ANYPLACE_CASE("lengths", "graphs.update", "each of thousands of updates is that of the next launch",
              Capability::graphs) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address cells = backend.allocate(many);
  backend.fill(stream, cells, 0, many);
  anyplace_graph graph = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    GraphDescription description;
    description.fill(cells + i, value_of(i), 1, 1);
    if (graph == 0 || !update_graph(backend, graph, description)) {
      // If a device refuses the update, another graph is made, as the core does.
      backend.synchronize(stream);
      if (graph != 0) MUST(backend, graph_destroy, graph);
      GraphDescription again;
      again.fill(cells + i, value_of(i), 1, 1);
      graph = create_graph(backend, again);
    }
    MUST(backend, graph_launch, graph, stream);
  }
  CHECK_BYTES(backend.read(stream, cells, many), all_values());
  MUST(backend, graph_destroy, graph);
}

// ---- Handles that are made and destroyed

/// Makes a handle, uses it to write a cell in the stream's order, and destroys it.
struct Brief {
  std::string label;
  std::vector<Capability> needs;
  void (*live)(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell);
};

void write_cell(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  MUST(backend, memory_set, stream, cells + cell, value_of(cell), 1, 1);
}

void live_stream(const TableBackend& backend, anyplace_stream, anyplace_address cells, std::uint64_t cell) {
  const anyplace_stream own = backend.stream();
  write_cell(backend, own, cells, cell);
  if (cell % 16 != 0) backend.synchronize(own);
  backend.destroy(own);
}
void live_event(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  const anyplace_event event = backend.event();
  write_cell(backend, stream, cells, cell);
  MUST(backend, event_record, event, stream);
  if (cell % 16 != 0) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
  MUST(backend, event_destroy, event);
}
void live_gate(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  anyplace_gate gate = 0;
  MUST(backend, gate_create, backend.device(), &gate);
  MUST(backend, stream_wait_gate, stream, gate);
  write_cell(backend, stream, cells, cell);
  MUST(backend, gate_open, gate);
  MUST(backend, gate_destroy, gate);
}
void live_memory(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  const anyplace_address memory = backend.allocate(256);
  MUST(backend, memory_set, stream, memory, value_of(cell), 1, 256);
  MUST(backend, memory_copy, stream, cells + cell, memory + 255, 1, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  backend.synchronize(stream);
  backend.free(memory);
}
void live_ordered_memory(const TableBackend& backend, anyplace_stream stream, anyplace_address cells,
                         std::uint64_t cell) {
  anyplace_address memory = 0;
  MUST(backend, memory_allocate_async, stream, 256, &memory);
  MUST(backend, memory_set, stream, memory, value_of(cell), 1, 256);
  MUST(backend, memory_copy, stream, cells + cell, memory + 255, 1, ANYPLACE_COPY_DEVICE_TO_DEVICE);
  MUST(backend, memory_free_async, stream, memory);
}
void live_callable(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  static std::atomic<std::uint64_t> released{0};
  const std::uint64_t before = released;
  const anyplace_kernel kernel = backend.kernel(do_nothing, nullptr, [](void*) { ++released; });
  const anyplace_launch launch = launch_of(1);
  MUST(backend, kernel_launch, stream, kernel, &launch);
  write_cell(backend, stream, cells, cell);
  backend.synchronize(stream);
  MUST(backend, kernel_destroy, kernel);
  step(__FILE__, __LINE__, "waiting for a callable to be let go");
  while (released == before) std::this_thread::yield();
}
void live_graph(const TableBackend& backend, anyplace_stream stream, anyplace_address cells, std::uint64_t cell) {
  GraphDescription description;
  description.fill(cells + cell, value_of(cell), 1, 1);
  const anyplace_graph graph = create_graph(backend, description);
  MUST(backend, graph_launch, graph, stream);
  backend.synchronize(stream);
  MUST(backend, graph_destroy, graph);
}

const std::vector<Brief> briefs = {
    {"streams", {}, live_stream},
    {"events", {}, live_event},
    {"gates", {Capability::gates}, live_gate},
    {"allocations", {}, live_memory},
    {"allocations in a stream's order", {Capability::stream_ordered_memory}, live_ordered_memory},
    {"callables", {Capability::host_kernels}, live_callable},
    {"graphs", {Capability::graphs}, live_graph},
};

ANYPLACE_CASES(briefs, "lengths", "process.books", "thousands of {} are made, used and ended, one after the other") {
  TableBackend backend(run);
  for (const Capability needed : parameter.needs) {
    if (!backend.has(needed)) skip(to_string(needed));
  }
  const anyplace_stream stream = backend.stream();
  const anyplace_address cells = backend.allocate(many);
  backend.fill(stream, cells, 0, many);
  for (std::uint64_t cell = 0; cell < many; ++cell) parameter.live(backend, stream, cells, cell);
  MUST(backend, device_synchronize, backend.device(), ANYPLACE_FOREVER);
  CHECK_BYTES(backend.read(stream, cells, many), all_values());
}

// ---- One event and many threads

ANYPLACE_CASE("lengths", "events.record", "what many threads see of an event holds for the record that they know of",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_event event = backend.event();
  std::atomic<std::uint64_t> done{0};      // pieces of work that are done
  std::atomic<std::uint64_t> recorded{0};  // pieces of work before the last record whose call has returned
  std::atomic<bool> over{false};
  constexpr std::uint64_t records = 1000;
  // The last thread records; the others query, wait for the event, and make a stream wait.
  run_threads(7, [&](int thread) {
    if (thread == 6) {
      const struct AtEnd {
        std::atomic<bool>& over;
        ~AtEnd() { over = true; }
      } at_end{over};
      for (std::uint64_t i = 1; i <= records; ++i) {
        submit(backend, stream, [&done] {
          linger(3);
          ++done;
        });
        MUST(backend, event_record, event, stream);
        recorded = i;
        if (i % 8 == 0) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);  // it is complete now and then
        linger(static_cast<int>(i));
      }
      return;
    }
    const anyplace_stream own = backend.stream();
    std::atomic<std::uint64_t> seen{0};
    for (int i = 0; !over; ++i) {
      const std::uint64_t known = recorded;
      bool asked = true;
      if (thread % 3 == 0) asked = is_done(backend, event);
      if (thread % 3 == 1) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
      seen = done.load();
      if (thread % 3 == 2) {
        MUST(backend, stream_wait_event, own, event);
        submit(backend, own, [&] { seen = done.load(); });
        backend.synchronize(own);
      }
      const std::uint64_t found = seen;
      if (asked) CHECK(found >= known);
      linger(i);
    }
  });
  MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
  CHECK_EQUAL(done.load(), records);
  backend.synchronize(stream);
}

ANYPLACE_CASE("lengths", "errors.threads",
              "an event that many threads recorded is pending until the record that follows is complete",
              Capability::host_functions) {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_stream waiter = backend.stream();
  const anyplace_event event = backend.event();
  for (int round = 0; round < 5; ++round) {
    run_threads(8, [&](int) {
      const anyplace_stream own = backend.stream();
      for (int i = 0; i < 150; ++i) {
        MUST(backend, event_record, event, own);
        static_cast<void>(is_done(backend, event));
        if (i % 10 == 0) MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
      }
      backend.synchronize(own);
      backend.destroy(own);
    });
    MUST(backend, event_synchronize, event, ANYPLACE_FOREVER);
    TableHold hold(backend);
    hold.hold(stream);
    MUST(backend, event_record, event, stream);
    MUST(backend, stream_wait_event, waiter, event);
    std::atomic<bool> ran{false};
    submit(backend, waiter, [&ran] { ran = true; });
    CHECK_STAYS_FALSE(is_done(backend, event) || ran.load());
    hold.open();
    backend.synchronize(waiter);
    CHECK(ran.load());
    CHECK(is_done(backend, event));
  }
}

}  // namespace
}  // namespace anyplace::conformance::lengths_cases
