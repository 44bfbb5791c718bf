// SPDX-License-Identifier: Apache-2.0
//
// A Graph is what a handle of graph_create stands for: the work of the launches that are made from now on. A launch is
// one command of its stream, which shares the work with the graph. So earlier launches keep the work that they had when
// the graph is updated or ends.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "graph_run.h"
#include "ref.h"

namespace anyplace::cpu_sim {

class Graph {
 public:
  /// Throws Failure for nodes that can't be launched, with what is wrong, and std::bad_alloc.
  Graph(backend::Host host, Engine& engine, Device& device, const anyplace_graph_desc& desc);

  /// Throws as the constructor does; then the graph is as it was.
  void update(const anyplace_graph_desc& desc);
  /// Throws if there is no memory or no thread; then nothing was submitted.
  void launch(Stream& stream, std::uint64_t cookie);

 private:
  const backend::Host host_;
  Engine& engine_;
  Device& device_;
  std::mutex mutex_;           // It is taken before all locks of stream.h.
  Ref<GraphRun> run_;          // mutex_ guards it.
  std::vector<Record> waits_;  // mutex_ guards it; it has the records of read_waits() for one launch.
};

}  // namespace anyplace::cpu_sim
