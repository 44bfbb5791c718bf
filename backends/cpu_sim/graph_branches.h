// SPDX-License-Identifier: Apache-2.0
//
// GraphBranches runs a graph's launch in the deterministic mode, in which each node is an operation of its own: nodes
// that have no order are chosen one by one, among the operations of all streams. Each chain of the plan is a Branch, a
// task that the director has whenever its next node is ready. In threads mode, and with a profile, which models a
// launch as a whole, graph_run.cpp runs launches by itself.
//
// What the director executes at a time may be several nodes, because one that blocks is left alone. So what branches
// share is atomic.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>

#include "graph_plan.h"
#include "host_thread.h"
#include "record.h"
#include "task.h"
#include "timeline.h"

namespace anyplace::cpu_sim {

class GraphRun;
class Stream;

class GraphBranches {
 public:
  GraphBranches(GraphRun& run, const GraphPlan& plan);
  GraphBranches(const GraphBranches&) = delete;  // Its branches have its address.
  GraphBranches& operator=(const GraphBranches&) = delete;
  ~GraphBranches() = default;

  /// Begins a launch, which the stream executes as the command at its front. `waits` live until the launch is complete.
  /// The last node completes the command.
  void begin(Stream& stream, const Record* waits) noexcept;
  /// The host thread has called the host function that is this chain. Returns what it calls next, or null.
  HostWork* host_function_called(std::uint32_t chain) noexcept;

 private:
  class Branch final : public Task, private Waiter {
   public:
    Branch(GraphBranches& all, std::uint32_t chain) noexcept : all_(all), chain_(chain) {}

    void prepare() noexcept;
    /// Is called when the chain waits for no other chain.
    void start() noexcept;
    /// Returns true to the last of the chains that it waits for.
    bool is_last_before() noexcept { return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    Done run() noexcept override;
    void step() noexcept override;
    void describe(Operation& out) override;

   private:
    void wake(Stream*&) noexcept override;
    void describe_node(Operation& out) const;
    const GraphPlan::Chain& chain() const noexcept { return all_.plan_.chains[chain_]; }

    GraphBranches& all_;
    const std::uint32_t chain_;
    std::uint32_t next_ = 0;                 // The branch goes on with this step; who has the task writes it.
    std::atomic<std::uint32_t> missing_{0};  // It counts the chains that this one still waits for.
  };

  bool complete(std::uint32_t chain) noexcept;

  GraphRun& run_;
  const GraphPlan& plan_;
  std::deque<Branch> branches_;  // It has one element for each chain.

  // These belong to the launch that runs.
  Stream* stream_ = nullptr;
  const Record* waits_ = nullptr;
  std::uint64_t first_ = 0;             // So many operations of the stream come before the graph's first node.
  std::atomic<std::uint32_t> left_{0};  // So many chains aren't complete.
};

}  // namespace anyplace::cpu_sim
