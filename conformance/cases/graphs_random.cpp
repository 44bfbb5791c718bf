// SPDX-License-Identifier: Apache-2.0
//
// Random graphs are compared with a model that runs their nodes one by one. A node comes after the nodes with which it
// shares a cell, and no others, so the result shows a forgotten dependency.
#include <array>
#include <cstring>

#include "support.h"

namespace anyplace::conformance::graphs_random_cases {
namespace {

constexpr std::size_t cells = 24;
constexpr std::uint64_t lines = 8;
constexpr std::uint64_t pitch = 96;
constexpr std::uint64_t cell_bytes = lines * pitch;

/// The operation of a node on its cells.
struct Step {
  int kind = 0;  ///< a fill, a copy, a pitched copy of half of each line, or nothing
  std::size_t to = 0;
  std::size_t from = 0;
  std::uint32_t value = 0;
};

struct Shape {
  std::string label;
  std::size_t count;
  int chance_of_fill;  ///< in 100; few fills make long chains of copies
};

class RandomGraph {
 public:
  RandomGraph(Run& run, const Shape& shape) : shape_(shape), device_(run.device()), stream_(device_), graph_(device_) {
    for (std::size_t cell = 0; cell < cells; ++cell) buffers_.push_back(filled(stream_, cell_bytes, 0));
    for (std::size_t i = 0; i < shape.count; ++i) add(random_step(run), run);
  }

  const Device& device() const { return device_; }
  const Graph& graph() const { return graph_; }
  const Stream& stream() const { return stream_; }

  /// The same steps with other values.
  Graph with_values(std::uint32_t offset) {
    Graph other(device_);
    std::vector<GraphNode> made;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      std::vector<GraphNode> after;
      for (const std::size_t before : after_[i]) after.push_back(made[before]);
      Step step = steps_[i];
      step.value += offset;
      made.push_back(node_of(other, after, step));
    }
    return other;
  }

  /// Applies a launch with these values to the model.
  void apply(std::vector<Bytes>& model, std::uint32_t offset = 0) const {
    for (const Step& step : steps_) {
      Bytes& to = model[step.to];
      const Bytes& from = model[step.from];
      const std::uint32_t value = step.value + offset;
      switch (step.kind) {
        case 0:
          for (std::uint64_t at = 0; at < cell_bytes; at += 4) std::memcpy(to.data() + at, &value, 4);
          break;
        case 1:
          to = from;
          break;
        case 2:
          for (std::uint64_t line = 0; line < lines; ++line) {
            std::memcpy(to.data() + line * pitch, from.data() + line * pitch, pitch / 2);
          }
          break;
        default:
          break;
      }
    }
  }
  std::vector<Bytes> zeros() const { return std::vector<Bytes>(cells, Bytes(cell_bytes, 0)); }
  void check(const std::vector<Bytes>& model, StreamView stream) const {
    for (std::size_t cell = 0; cell < cells; ++cell) CHECK_BYTES(read(stream, buffers_[cell]), model[cell]);
  }

 private:
  Step random_step(Run& run) const {
    const auto pick = [&](std::size_t end) { return static_cast<std::size_t>(run.random()() % end); };
    Step step;
    step.to = pick(cells);
    step.from = (step.to + 1 + pick(cells - 1)) % cells;
    step.value = static_cast<std::uint32_t>(run.random()());
    step.kind = static_cast<int>(pick(100)) < shape_.chance_of_fill ? 0 : 1 + static_cast<int>(pick(3));
    return step;
  }

  GraphNode node_of(Graph& graph, const After& after, const Step& step) const {
    switch (step.kind) {
      case 0:
        return CALL(graph.add_memset32(after, buffers_[step.to], step.value));
      case 1:
        return CALL(graph.add_copy(after, buffers_[step.to], buffers_[step.from]));
      case 2:
        return CALL(graph.add_copy_2d(after, buffers_[step.to], pitch, buffers_[step.from], pitch, pitch / 2, lines));
      default:
        return CALL(graph.add_empty(after));
    }
  }

  void add(const Step& step, Run& run) {
    std::vector<std::size_t> before;
    const auto come_after = [&](std::size_t node) {
      if (node != none && std::find(before.begin(), before.end(), node) == before.end()) before.push_back(node);
    };
    if (step.kind != 3) {
      come_after(writer_[step.to]);
      for (const std::size_t reader : readers_[step.to]) come_after(reader);
      if (step.kind != 0) come_after(writer_[step.from]);
    } else if (!nodes_.empty()) {
      come_after(static_cast<std::size_t>(run.random()() % nodes_.size()));
    }
    std::vector<GraphNode> after;
    for (const std::size_t node : before) after.push_back(nodes_[node]);
    const std::size_t number = nodes_.size();
    nodes_.push_back(node_of(graph_, after, step));
    steps_.push_back(step);
    after_.push_back(std::move(before));
    if (step.kind == 3) return;
    readers_[step.to].clear();
    writer_[step.to] = number;
    if (step.kind != 0) readers_[step.from].push_back(number);
  }

  static constexpr std::size_t none = SIZE_MAX;
  const Shape& shape_;
  const Device device_;
  const Stream stream_;
  Graph graph_;
  std::vector<Buffer> buffers_;
  std::vector<GraphNode> nodes_;
  std::vector<Step> steps_;
  std::vector<std::vector<std::size_t>> after_;
  std::array<std::size_t, cells> writer_ = [] {
    std::array<std::size_t, cells> writers;
    writers.fill(none);
    return writers;
  }();
  std::array<std::vector<std::size_t>, cells> readers_;
};

const std::vector<Shape> shapes = {{"10 nodes", 10, 40},
                                   {"100 nodes", 100, 20},
                                   {"300 nodes that are mostly copies", 300, 8},
                                   {"300 nodes that are mostly fills", 300, 80},
                                   {"2000 nodes", 2000, 20}};

ANYPLACE_CASES(shapes, "random graphs", "graphs.order", "{} have the result of their nodes run one by one") {
  RandomGraph random(run, parameter);
  const GraphExec exec = CALL(random.graph().instantiate());
  std::vector<Bytes> model = random.zeros();
  for (int launch = 0; launch < 3; ++launch) {
    CALL(exec.launch(random.stream()));
    random.apply(model);
  }
  random.check(model, random.stream());
}

ANYPLACE_CASES(shapes, "random graphs", "graphs.update", "{} have the values of the last update at each launch") {
  RandomGraph random(run, parameter);
  const GraphExec exec = CALL(random.graph().instantiate());
  std::vector<Bytes> model = random.zeros();
  CALL(exec.launch(random.stream()));
  random.apply(model);
  for (std::uint32_t offset = 1; offset <= 3; ++offset) {
    CALL(exec.update(random.with_values(offset)));
    CALL(exec.launch(random.stream()));
    random.apply(model, offset);
  }
  random.check(model, random.stream());
}

ANYPLACE_CASES(shapes, "random graphs", "graphs.launch",
               "{} launched on several streams in turn have the same result") {
  RandomGraph random(run, parameter);
  const GraphExec exec = CALL(random.graph().instantiate());
  const Stream others[2] = {CALL(Stream(random.device())), CALL(Stream(random.device()))};
  std::vector<Bytes> model = random.zeros();
  for (int launch = 0; launch < 6; ++launch) {
    CALL(exec.launch(others[launch % 2]));
    random.apply(model);
  }
  CALL(others[0].wait_stream(others[1]));
  random.check(model, others[0]);
}

}  // namespace
}  // namespace anyplace::conformance::graphs_random_cases
