// SPDX-License-Identifier: Apache-2.0
//
// Random graphs whose nodes depend on each other's data, beside the same steps one by one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <utility>

#include "graphs.h"

namespace test_graphs_random_cases {

using namespace cpu_sim_test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int rounds = 40;
#else
constexpr int rounds = 150;
#endif

constexpr std::size_t cells = 24;

/// A cell that a node with blocks works on, one number for each block.
struct Cell {
  std::uint64_t numbers[4];
};
using Cells = std::vector<Cell>;

enum class What { one_block, blocks, copy, fill, host, count };

struct Step {
  What what;
  std::size_t to;
  std::size_t from;
  std::uint64_t number;
};

void mix(std::uint64_t& to, std::uint64_t from, std::uint64_t number) { to = to * 3 + from + number; }

void apply(Cells& values, const Step& step) {
  Cell& to = values[step.to];
  const Cell from = values[step.from];
  switch (step.what) {
    case What::one_block:
    case What::host:
      return mix(to.numbers[0], from.numbers[1], step.number);
    case What::blocks:
      for (std::size_t i = 0; i < 4; ++i) mix(to.numbers[i], from.numbers[i], step.number);
      return;
    case What::copy:
      to = from;
      return;
    default:
      std::memset(&to, static_cast<int>(step.number), sizeof(to));
  }
}

/// The nodes that each step comes after: the last that wrote what it touches and, as it writes, those that read it.
class Dependencies {
 public:
  After of(const Step& step, std::uint32_t node) {
    After after;
    if (writer_[step.to] != nobody) after.push_back(writer_[step.to]);
    if (writer_[step.from] != nobody) after.push_back(writer_[step.from]);
    after.insert(after.end(), readers_[step.to].begin(), readers_[step.to].end());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    readers_[step.to].clear();
    writer_[step.to] = node;
    if (step.from != step.to) readers_[step.from].push_back(node);
    return after;
  }

 private:
  static constexpr std::uint32_t nobody = UINT32_MAX;
  std::vector<std::uint32_t> writer_ = std::vector<std::uint32_t>(cells, nobody);
  std::vector<After> readers_ = std::vector<After>(cells);
};

/// Kernels that do the steps, by their arguments.
class Kernels {
 public:
  explicit Kernels(Plugin& plugin)
      : kernel_(plugin,
                [](const anyplace_block& block, void* const* arguments, const std::uint32_t*,
                   std::uint32_t) -> anyplace_status {
                  auto* to = *static_cast<Cell* const*>(arguments[0]);
                  const auto* from = *static_cast<const Cell* const*>(arguments[1]);
                  const std::uint64_t number = *static_cast<const std::uint64_t*>(arguments[2]);
                  if (number % 16 == 0) std::this_thread::yield();
                  const std::uint32_t i = block.index[0];
                  mix(to->numbers[i], from->numbers[block.grid[0] == 1 ? 1 : i], number);
                  return ANYPLACE_STATUS_OK;
                }) {}

  /// Adds the node that does `step` on `values`.
  void add(GraphNodes& nodes, Cells& values, const Step& step, After after) {
    Cell* to = &values[step.to];
    Cell* from = &values[step.from];
    switch (step.what) {
      case What::copy:
        if (to != from) {
          nodes.copy(to, from, sizeof(*to), std::move(after));
        } else {
          nodes.empty(std::move(after));
        }
        return;
      case What::fill:
        nodes.fill(to, static_cast<std::uint32_t>(step.number), 1, sizeof(*to), std::move(after));
        return;
      case What::host:
        nodes.host([to, from, step] { mix(to->numbers[0], from->numbers[1], step.number); }, std::move(after));
        return;
      default:
        kept_.push_back({to, from, step.number});
        nodes.kernel(kernel_, std::move(after), {step.what == What::blocks ? 4u : 1u, 1, 1},
                     {argument_of(kept_.back().to), argument_of(kept_.back().from), argument_of(kept_.back().number)});
    }
  }

 private:
  struct Kept {
    Cell* to;
    Cell* from;
    std::uint64_t number;
  };
  std::deque<Kept> kept_;
  Kernel kernel_;
};

std::vector<Step> random_steps(std::mt19937& random, bool host_functions) {
  std::vector<Step> steps(1 + random() % 200);
  for (Step& step : steps) {
    // Few cells make long chains, many make wide graphs.
    const std::size_t among = steps.size() % 5 == 0 ? 3 : cells;
    step = {static_cast<What>(random() % static_cast<unsigned>(What::count)), random() % among, random() % among,
            random() % 100};
    if (step.what == What::host && (!host_functions || random() % 4 != 0)) step.what = What::one_block;
  }
  return steps;
}

}  // namespace

TEST_CASE("Given random graphs, Then they leave what their nodes leave one by one, also after an update") {
  std::mt19937 random(17);
  for (const char* workers : {"1", "2", "4"}) {
    Plugin plugin(Environment{{"WORKERS", workers}});
    for (int round = 0; round < rounds; ++round) {
      std::vector<Step> steps = random_steps(random, round % 2 == 0);
      Cells values(cells);
      for (Cell& cell : values) cell = {{random(), random(), random(), random()}};
      Cells expected = values;
      Kernels kernels(plugin);
      const auto nodes_of = [&] {
        GraphNodes nodes;
        Dependencies dependencies;
        for (std::uint32_t i = 0; i < steps.size(); ++i)
          kernels.add(nodes, values, steps[i], dependencies.of(steps[i], i));
        return nodes;
      };
      Stream first(plugin), second(plugin, Stream::priority(round % 4 - 2));
      Event event(plugin);
      Graph graph(plugin, nodes_of());
      for (int launch = 0; launch < 4; ++launch) {
        Stream& stream = launch % 2 == 0 ? first : second;
        if (launch > 0) stream.wait(event);
        graph.launch(stream);
        stream.record(event);
        for (const Step& step : steps) apply(expected, step);
        if (launch == 2) {
          // The same nodes with other numbers.
          for (Step& step : steps) ++step.number;
          graph.update(nodes_of());
        }
        if (random() % 3 == 0) CHECK(stream.synchronize(random() % 2 == 0 ? forever : 60'000 * millisecond));
      }
      CHECK(event.synchronize());
      CHECK(second.synchronize());
      REQUIRE(std::memcmp(values.data(), expected.data(), cells * sizeof(Cell)) == 0);
    }
  }
}

}  // namespace test_graphs_random_cases
