// SPDX-License-Identifier: Apache-2.0
//
// Graphs: what the nodes of a backend's graph access, which is checked among them when the graph is made, and against
// everything else at each launch; and its host functions, which say only when they run what they access.
//
// The core submits a launch only behind the graph's earlier ones (abi.h), so a host function's runs are the launches in
// their order.
#pragma once

#include <anyplace/backend/abi.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine.h"
#include "thread.h"

namespace anyplace::validate {

/// Which nodes come before which, as a bit for each pair. A dependency has a lower number than its node.
class Paths {
 public:
  Paths() = default;
  explicit Paths(std::size_t count) : words_((count + 63) / 64), bits_(count * words_) {}
  void add(std::uint32_t before, std::uint32_t node);
  bool reaches(std::uint32_t before, std::uint32_t node) const {
    return (bits_[node * words_ + before / 64] >> before % 64 & 1) != 0;
  }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;
};

struct Graph;

/// A graph's host function, as the backend gets it.
struct GraphHostFunction {
  Graph* graph = nullptr;
  std::uint32_t node = 0;
  anyplace_host_function function = nullptr;
  void* user = nullptr;

  /// The launches whose run of it isn't over, each with its stream as it was at the node.
  std::deque<std::shared_ptr<Stream>> launches;
  std::uint64_t runs = 0;  ///< that have begun
  struct Declaration {
    Touch touch;
    std::uint32_t operation = 0;
  };
  std::vector<Declaration> declared;  ///< by the last run

  static void run(void* self, anyplace_status status);
  /// Compares what the run that is under way declares with the graph's other nodes, and remembers it for those that run
  /// later. The caller holds the engine's mutex.
  void declare(Engine& engine, const Touch& touch, std::uint32_t operation, std::vector<Report>& found);
};

/// What a graph was described as: an update makes another Graph, while launches of the one before may be pending.
struct Graph {
  struct Node {
    std::uint32_t number = 0;
    std::string name;
    std::uint32_t operation = 0;  ///< that made it
    std::vector<Touch> touches;
    GraphHostFunction* function = nullptr;  ///< of the application's
  };
  Device* device = nullptr;
  std::vector<Node> nodes;  ///< those that access memory, and host functions
  std::vector<anyplace_event> waits;
  std::vector<anyplace_event> records;
  bool has_paths = false;  ///< else it has too many nodes
  Paths paths;
  std::vector<std::unique_ptr<GraphHostFunction>> functions;

  /// Whether none of the host functions has to run any more.
  bool is_idle() const noexcept;
};

/// What the layer knows of the handles in a description.
struct GraphSource {
  std::function<Device&(std::int32_t)> device;
  std::function<std::string(anyplace_kernel)> kernel;
  std::function<std::vector<Declared>(const anyplace_launch*)> declared;
  std::function<std::optional<anyplace_copy_2d>(void*)> own_function;  ///< what a host function of the core's own does
};

/// The i-th node. What the caller's version of a node doesn't have is 0.
anyplace_graph_node node_of(const anyplace_graph_desc& desc, std::uint32_t i);

/// A description with the same nodes, whose host functions are the graph's.
class GraphWithCalls {
 public:
  GraphWithCalls(const anyplace_graph_desc& given, const Graph& graph);
  const anyplace_graph_desc& desc() const noexcept { return desc_; }

 private:
  anyplace_graph_desc desc_;
  std::vector<unsigned char> nodes_;
};

// -- The caller holds the engine's mutex.
/// Adds the races among the nodes to `found`.
std::unique_ptr<Graph> make_graph(Engine& engine, Device& device, const anyplace_graph_desc& desc,
                                  const GraphSource& source, const Sites::Frames& frames, std::vector<Report>& found);

/// A launch that the backend hasn't got yet.
struct GraphLaunch {
  std::uint64_t first = 0, last = 0;  ///< the numbers of its operations
  std::string refused;                ///< the report, if it isn't to be made
};
/// The stream has waited for the graph's events.
GraphLaunch launch_graph(Engine& engine, Graph& graph, Stream& stream, const Sites::Frames& frames);
void undo_launch(Engine& engine, Graph& graph, const Stream& stream, const GraphLaunch& launch);

}  // namespace anyplace::validate
