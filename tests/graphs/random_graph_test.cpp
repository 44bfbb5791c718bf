// SPDX-License-Identifier: Apache-2.0
// Captures of random work on several streams beside what running it gives.
#include <random>

#include "graphs/graph_support.h"

namespace random_graph_test {

using namespace anyplace;
using test::graph_device;

constexpr std::size_t cells = 24;

/// cell[to] = cell[to] * 3 + cell[from] + number: what it leaves depends on the order of all steps that share a cell.
void apply(std::vector<std::uint64_t>& values, std::size_t to, std::size_t from, std::uint64_t number) {
  values[to] = values[to] * 3 + values[from] + number;
}

struct Step {
  std::size_t to;
  std::size_t from;
  std::uint64_t number;
};

std::vector<Step> random_steps(std::mt19937& random, std::size_t count) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < count; ++i) steps.push_back({random() % cells, random() % cells, random() % 100});
  return steps;
}

/// Each node comes after the last that wrote what it touches and, before it writes, after those that read it.
template <class AddNode>
void add_steps(const std::vector<Step>& steps, AddNode&& add_node) {
  std::vector<std::vector<std::size_t>> readers(cells);
  std::vector<std::size_t> writer(cells, SIZE_MAX);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::vector<std::size_t> after;
    if (writer[step.to] != SIZE_MAX) after.push_back(writer[step.to]);
    if (writer[step.from] != SIZE_MAX) after.push_back(writer[step.from]);
    after.insert(after.end(), readers[step.to].begin(), readers[step.to].end());
    add_node(step, after);
    readers[step.to].clear();
    writer[step.to] = i;
    if (step.from != step.to) readers[step.from].push_back(i);
  }
}

TEST_CASE("Given random work on several streams then a capture of it leaves what running it leaves") {
  const Device device = graph_device();
  const Kernel kernel(device, [](const Block&, std::uint64_t* to, const std::uint64_t* from, std::uint64_t number) {
    *to = *to * 3 + *from + number;
  });
  std::mt19937 random(11);
  for (int round = 0; round < 10; ++round) {
    const std::vector<Step> steps = random_steps(random, 1 + random() % 150);
    std::vector<Stream> streams;
    for (int s = 0; s < 4; ++s) streams.emplace_back(device);
    const Buffer memory(streams[0], cells * 8);
    const std::vector<std::uint64_t> initial(cells, 1);
    std::vector<std::uint64_t> expected = initial;
    streams[0].copy(memory, initial);
    streams[0].synchronize();
    streams[0].begin_capture();
    for (int s = 1; s < 4; ++s) streams[s].wait_event(streams[0].record_event());
    std::vector<Event> events;
    add_steps(steps, [&](const Step& step, const std::vector<std::size_t>& after) {
      const Stream& stream = streams[random() % streams.size()];
      for (const std::size_t node : after) stream.wait_event(events[node]);
      stream.launch(kernel, {}, memory.sub(step.to * 8, 8), memory.sub(step.from * 8, 8), step.number);
      events.push_back(stream.record_event());
    });
    for (int s = 1; s < 4; ++s) streams[0].wait_stream(streams[s]);
    const GraphExec exec = streams[0].end_capture().instantiate();
    for (int launch = 0; launch < 2; ++launch) {
      exec.launch(streams[launch]);
      for (const Step& step : steps) apply(expected, step.to, step.from, step.number);
    }
    std::vector<std::uint64_t> found(cells);
    streams[1].copy(found, memory);
    streams[1].synchronize();
    REQUIRE(found == expected);
  }
}

}  // namespace random_graph_test
