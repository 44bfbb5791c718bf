// SPDX-License-Identifier: Apache-2.0
//
// Each call of a graph's life to the vendor fails at each of its uses: the failure is told, the graph is as it was, and
// nothing is left behind.
#include <cstdio>

#include "graphs.h"
#include "support/process.h"

namespace graph_failure_test {

namespace {

using namespace vendor_test;

/// The status of the first call that failed, or OK.
struct FirstFailure {
  anyplace_status status = ANYPLACE_STATUS_OK;
  void note(anyplace_status made) {
    if (status == ANYPLACE_STATUS_OK) status = made;
  }
};

/// Every kind of node, in branches.
Nodes every_kind(const Graphs& on, anyplace_event event, Count& count, std::vector<std::uint32_t>& back,
                 std::uint32_t value) {
  Nodes nodes;
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_WAIT, event);
  nodes.set(on.a, value, 4, Graphs::count, {0});
  nodes.fill(on.kernel, on.b, Graphs::count, value, {0});
  nodes.empty({1, 2});
  nodes.copy(ANYPLACE_COPY_DEVICE_TO_HOST, Graphs::address(back), on.a, Graphs::bytes, {3});
  nodes.copy_2d({sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, on.b, 64, on.a, 64, 32, 4}, {3});
  nodes.call(Count::call, &count, {4, 5});
  nodes.event(ANYPLACE_GRAPH_NODE_EVENT_RECORD, event, {6});
  return nodes;
}

/// A graph's life, which goes on as far as it can where a call failed.
FirstFailure live(const Graphs& on, anyplace_event event, std::vector<std::uint32_t>& back) {
  FirstFailure first;
  Count count;
  anyplace_graph graph = 0;
  first.note(on.create(every_kind(on, event, count, back, 1), graph));
  if (graph == 0) return first;
  std::uint32_t value = 1;
  for (int round = 0; round < 2; ++round) {
    const anyplace_status launched = on.plugin->graph_launch(on.self(), graph, on.stream);
    first.note(launched);
    first.note(on.plugin->stream_synchronize(on.self(), on.stream, ANYPLACE_FOREVER));
    if (launched == ANYPLACE_STATUS_OK && first.status != ANYPLACE_STATUS_DEVICE_LOST) {
      if (back != Graphs::all(value)) std::printf("a graph that did what it was not made for\n");
    }
    const anyplace_status updated = on.update(graph, every_kind(on, event, count, back, 2));
    first.note(updated);
    if (updated == ANYPLACE_STATUS_OK) value = 2;
  }
  first.note(on.plugin->graph_destroy(on.self(), graph));
  if (count.failed != 0) std::printf("a host function that was told of a failure\n");
  return first;
}

/// What is wrong where the nth call of the entry fails with `code`; whether it was made at all.
struct Outcome {
  std::string wrong;
  bool reached = false;
};
Outcome outcome_of(const char* entry, std::uint64_t nth, int code, anyplace_status expected) {
  const test::Ended child = test::in_child([&] {
    const Double driver;
    std::uint64_t made = 0;
    {
      const Graphs on;
      const anyplace_event event = on.make_event();
      std::vector<std::uint32_t> back(Graphs::count);
      CHECK(driver.fail_nth(entry, nth, code));
      const FirstFailure first = live(on, event, back);
      made = driver.failures();
      driver.clear_failures();
      const bool silent = std::string(entry) == call::end_graph;  // what it was for is done
      if (made != 0 && !silent && first.status != expected) std::printf("status %d\n", first.status);
      const bool lost = made != 0 && expected == ANYPLACE_STATUS_DEVICE_LOST;
      const anyplace_status afterwards = live(on, event, back).status;
      if (afterwards != (lost ? ANYPLACE_STATUS_DEVICE_LOST : ANYPLACE_STATUS_OK)) {
        std::printf("afterwards: %d: %s\n", afterwards, Plugin::message().c_str());
      }
      Plugin::check(on.plugin->event_destroy(on.self(), event));
    }
    if (driver.live() != 0) std::printf("left: %s\n", driver.live_text().c_str());
    if (driver.misuses() != 0) std::printf("misuse: %s\n", driver.misuse_text().c_str());
    return made != 0 ? 0 : 3;
  });
  Outcome outcome{child.out, child.status == 0};
  if (child.hung) outcome.wrong += "it hangs";
  if (child.signal != 0) outcome.wrong += "signal " + std::to_string(child.signal);
  return outcome;
}

/// At each use of each of the calls.
void sweep(int code, anyplace_status expected) {
  std::vector<const char*> entries(std::begin(call::of_graphs), std::end(call::of_graphs));
  entries.push_back(call::end_graph);
  for (const char* entry : entries) {
    std::uint64_t nth = 1;
    for (bool reached = true; reached; ++nth) {
      INFO(entry << ", call " << nth << ", gives " << code);
      const Outcome outcome = outcome_of(entry, nth, code, expected);
      CHECK(outcome.wrong == "");
      reached = outcome.reached;
      REQUIRE(nth < 20);
    }
    CHECK(nth > 2);  // it was called
  }
}

}  // namespace

TEST_CASE("A shortage of memory at any call of a graph's life is told and leaves nothing behind") {
  sweep(result::out_of_memory, ANYPLACE_STATUS_OUT_OF_MEMORY);
}

TEST_CASE("A failure without a reason at any call of a graph's life is told and leaves nothing behind") {
  sweep(result::unknown, ANYPLACE_STATUS_BACKEND_FAILED);
}

TEST_CASE("A loss of the device at any call of a graph's life is told and leaves nothing behind") {
  sweep(result::launch_failed, ANYPLACE_STATUS_DEVICE_LOST);
}

TEST_CASE("A graph that the vendor calls unsupported at any of its nodes is unsupported") {
  for (const char* entry : call::of_graphs) {
    if (std::string(entry).find("Add") == std::string::npos) continue;
    INFO(entry);
    CHECK(outcome_of(entry, 1, result::not_supported, ANYPLACE_STATUS_UNSUPPORTED).wrong == "");
  }
}

}  // namespace graph_failure_test
