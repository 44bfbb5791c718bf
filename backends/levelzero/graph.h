// SPDX-License-Identifier: Apache-2.0
//
// Graph: closed command lists, each with the whole graph, which a queue of the graph's own executes. A stream is an
// immediate list. Two events keep a launch in the stream's order: the stream signals `start` and waits for `end`; the
// closed list waits for `start`, resets all its events, and signals `end` behind all of its nodes.
//
// The specification forbids executing a list that the device still has. So a launch takes a list whose last execution
// is known to be over, and makes another list if there is none. Once there are `most_lists` of them, the nodes are
// submitted to the stream one by one.
//
// A graph with anything but kernels, copies within the device's reach and fills is refused as UNSUPPORTED, and so is an
// update: a closed list can't be changed, except with an extension that isn't used here. The core then submits the
// nodes itself, or makes a new graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "error.h"
#include "signal.h"

namespace anyplace::levelzero {

class Device;
class Kernel;
class Stream;

/// Launches of a graph come one at a time.
class Graph {
 public:
  /// Whether the loader has the entries that graphs need.
  static bool is_supported() noexcept;

  /// Throws UNSUPPORTED for a node that a list can't have.
  Graph(Device& device, const anyplace_graph_desc& desc);
  Graph(const Graph&) = delete;  // it owns its lists
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  /// Throws UNSUPPORTED.
  static void update(const anyplace_graph_desc& desc);
  void launch(Stream& stream);
  /// Destroys the graph, when no launch is pending.
  static void destroy(Graph* graph);

 private:
  /// A copy of a description's node, with the values that it points to.
  struct Node {
    std::uint32_t kind = 0;
    std::vector<std::uint32_t> after;
    bool has_event = false;  ///< whether other nodes come after it
    Kernel* kernel = nullptr;
    anyplace_launch launch{};
    std::vector<anyplace_argument> arguments;
    std::vector<std::vector<std::byte>> values;
    anyplace_copy_2d copy{};
    anyplace_address address = 0;
    std::uint64_t count = 0;
    std::uint32_t value = 0;
    std::uint32_t width = 0;
  };
  class List;

  static constexpr std::size_t most_lists = 4;

  static Node copy_of(const anyplace_graph_desc& desc, std::uint32_t index);
  static void keep_launch(Node& node, const anyplace_launch& launch);
  void require_copy(const Node& node) const;
  void require_fill(const Node& node) const;
  List* idle_list();
  void launch_one_by_one(Stream& stream);
  void end(FirstFailure& failure) noexcept;

  Device& device_;
  std::vector<Node> nodes_;
  std::mutex mutex_;  // guards what follows; taken before a Kernel's
  ze_command_queue_handle_t queue_ = nullptr;
  std::vector<std::unique_ptr<List>> lists_;
};

}  // namespace anyplace::levelzero
