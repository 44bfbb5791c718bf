// SPDX-License-Identifier: Apache-2.0
//
// A GraphPlan is a graph's nodes, compiled once into what a launch runs. It never changes, except for what a launch
// writes into its steps (Launch::set_cookie).
//
// A plan is made of chains. A chain is a row of nodes in which each but the first comes after the node before it and
// after no other, and each but the last has the next node as its only successor. Nodes of a chain could never run at
// the same time, so nothing is lost when one thread runs it from beginning to end, and ordering costs something once
// per chain and not once per node. A host function, and a wait for an event, is a chain of its own, because no worker
// runs it.
//
// Chains are in an order in which they can run: each comes after those that it depends on.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "kernel.h"
#include "ref.h"
#include "spread.h"

namespace anyplace::cpu_sim {

class Engine;
class Event;
struct Operation;

class GraphPlan {
 public:
  /// A Step is what one node does. Nodes that do nothing have no step.
  struct Step {
    enum Kind : std::uint32_t {
      launch,  // It launches one block of the size `packed` of `kernel`, without arguments.
      copy,    // One thread copies `bytes` from `source` to `address`.
      fill,    // One thread fills `count` elements of `bytes` bytes each at `address` with the value `packed`.
      work,    // One thread runs all units of `work_`, which are `bytes`.
      spread,  // Several threads run the units of `work_`.
      record   // It records records[packed].
    };
    Kind kind = launch;
    std::uint32_t packed = 0;
    union {
      Kernel* kernel = nullptr;
      anyplace_address address;
      Spreadable* work_;
    };
    union {
      Launch* launched = nullptr;  // It is `work_` if that is a launch; else null.
      anyplace_address source;
      std::uint64_t count;
    };
    std::uint64_t bytes = 0;
  };

  struct Chain {
    enum Kind : std::uint32_t { steps, host_function, wait };
    Kind kind = steps;
    std::uint32_t dependencies = 0;  // It comes after so many chains.
    std::uint32_t begin = 0;         // Its steps begin here. For another kind it is an index in host_calls or waits.
    std::uint32_t end = 0;
    std::uint32_t first_successor = 0;  // It is an index in successors.
    std::uint32_t last_successor = 0;   // It is the one behind the last.
    std::uint32_t node = 0;             // It is the number of the first node.
  };

  struct HostCall {
    anyplace_host_function function;
    void* user;
    std::uint32_t chain;
  };

  /// Throws Failure for nodes that can't be launched, as the entries for their work do, and std::bad_alloc.
  GraphPlan(Engine& engine, Device& device, const anyplace_graph_desc& desc);
  GraphPlan(const GraphPlan&) = delete;  // Its steps point into it.
  GraphPlan& operator=(const GraphPlan&) = delete;
  ~GraphPlan() = default;

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(chains.size()); }
  const std::uint32_t* successors_of(const Chain& chain) const noexcept {
    return successors.data() + chain.first_successor;
  }

  /// Describes one step, for the deterministic mode. A record is silent.
  void describe_step(std::uint32_t step, Operation& out) const;
  /// Returns the number of a node: of that step of a chain, or of a chain's only node if it isn't one of steps. Nodes
  /// are numbered as the graph's description has them.
  std::uint32_t node_of(const Chain& chain, std::uint32_t step) const noexcept {
    return chain.kind == Chain::steps && step != chain.end ? step_nodes[step] : chain.node;
  }

  /// Describes the nodes that take time, in an order in which they can run (Operation::nodes).
  void describe(std::vector<Operation>& out) const;

  std::vector<Chain> chains;
  std::vector<Step> steps;
  std::vector<std::uint32_t> step_nodes;  // It has the number of each step's node.
  std::vector<std::uint32_t> successors;
  std::vector<HostCall> host_calls;
  std::vector<Event*> records;
  std::vector<Event*> waits;
  bool has_spread = false;       // It says whether any step is of that kind.
  std::uint32_t node_count = 0;  // The graph has so many nodes.

 private:
  class Compiler;
  std::pmr::monotonic_buffer_resource memory_;  // The steps' work lies in it.
  std::vector<Ref<Kernel>> kernels_;            // It keeps all kernels alive that steps launch.
};

}  // namespace anyplace::cpu_sim
