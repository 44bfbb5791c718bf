// SPDX-License-Identifier: Apache-2.0
//
// A GraphRun is a plan together with what a launch of it needs while it runs; one launch runs at a time. A launch is
// one command of its stream (graph.h), and allocates nothing.
//
// A launch is run by counting: each chain has the number of chains that it still waits for, and those that wait for
// none are in a list of ready chains, all under lock_. The thread that executes the stream, the owner, runs one ready
// chain after the other. While more are ready than it can run, the stream's SpreadJob is in the scheduler's ready
// queue. A thread that takes the job from there watches the owner first: while the owner completes a chain every few
// hundred nanoseconds, the thread puts the job back, because handing chains over would take longer than running them.
//
// users_ counts who may touch this object: threads that run chains, host functions and waits under way, and the job
// while it is in the queue. The last of them completes the command; so none is left when the next launch begins.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "graph_branches.h"
#include "graph_plan.h"
#include "host_thread.h"
#include "record.h"
#include "ref.h"
#include "spin_lock.h"
#include "spread.h"
#include "timeline.h"
#include "timeline_pool.h"
#include "wait.h"

namespace anyplace::cpu_sim {

class GraphRun final : public RefCounted<GraphRun>, private JointWork {
 public:
  /// Throws as GraphPlan does.
  GraphRun(backend::Host host, Engine& engine, Device& device, const anyplace_graph_desc& desc);

  // -- For submitting a launch. One thread at a time calls these.
  bool has_host_calls() const noexcept { return !plan_.host_calls.empty(); }
  std::size_t wait_count() const noexcept { return plan_.waits.size(); }
  /// Writes the records that the waits of a launch made now are for.
  void read_waits(Record* out) const noexcept;
  /// Makes the launch that was just submitted the most recent record of the events that it records.
  void set_records() noexcept;

  // -- For the command.
  /// Describes a launch, for the deterministic mode.
  void describe(Operation& out) const;
  /// Runs a launch; the thread that executes the stream calls it. `waits` are from read_waits(), and live until the
  /// launch is complete. It returns Progress::elsewhere if another thread completes the launch.
  Progress begin(Stream& stream, std::uint64_t cookie, const Record* waits) noexcept;

  // -- For GraphBranches.
  /// Runs the step with that number on the calling thread alone.
  void run_alone(std::uint32_t number) noexcept;
  /// Lets the host thread call a host function.
  void post_host_function(std::uint32_t number) noexcept;

 private:
  friend class RefCounted<GraphRun>;
  using Chain = GraphPlan::Chain;
  using Step = GraphPlan::Step;
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A RecordPoint is an event that the graph records. Each launch advances its timeline by one.
  struct RecordPoint {
    Timeline* timeline;
    std::uint64_t submitted;
    Ref<Stamp> stamp;  // It is null for an event without timing, and the same for all launches.
  };
  /// A Spread is what a chain needs while one of its steps is spread.
  struct Spread {
    Ranges ranges;
    std::uint32_t users = 0;  // lock_ guards it; it counts the threads that run ranges.
  };
  class Call final : public HostWork {
   public:
    Call(GraphRun& run, std::uint32_t number) noexcept : run_(run), number_(number) {}

   private:
    HostWork* call() noexcept override { return run_.call_host_function(number_); }
    GraphRun& run_;
    const std::uint32_t number_;
  };
  class Wait final : public Waiter {
   public:
    Wait(GraphRun& run, std::uint32_t chain) noexcept : run_(run), chain_(chain) {}

   private:
    void wake(Stream*&) noexcept override { run_.end_wait(chain_); }
    GraphRun& run_;
    const std::uint32_t chain_;
  };

  /// A Worker is what a thread remembers while it works on the launch.
  struct Worker {
    bool is_owner = false;
    bool began = false;              // It says whether the thread has run a step.
    unsigned looks = 0;              // It counts how often the thread has found a task that it could yield to.
    std::int64_t began_ns = 0;       // The thread found such a task first at this time.
    std::uint32_t chains = 0;        // It counts the chains that the owner has completed.
    std::int64_t first_ns = 0;       // count_chain() has first read the clock at this time.
    std::uint32_t first_chains = 0;  // The thread had completed so many chains then.
  };
  /// An Item is what a thread works on: a chain, or ranges of the chain's next step.
  struct Item {
    std::uint32_t chain = none;
    bool ranges = false;
  };
  /// An End says how the work on an item ended.
  enum class End {
    nothing,  // There was no item.
    done,     // The chain is done, or all ranges that were left are.
    yields,   // The thread yields to another task.
    spreads,  // The chain's next step is to be spread.
  };
  /// Deferred is what is decided under lock_ and done after it was released.
  struct Deferred {
    bool enqueues_job = false;
    std::uint32_t starts = none;  // carry_out() starts these host functions and waits, a list by next_start.
  };

  ~GraphRun();
  Joined join() noexcept override;
  bool work(Item item, End end, Worker worker) noexcept;

  End run_item(const Item& item, Worker& worker) noexcept;
  End run_steps(std::uint32_t chain, Worker& worker) noexcept;
  void run_step(Step& step) noexcept;
  void record(std::uint32_t number) noexcept;
  bool yields_to_others(Worker& worker) noexcept;
  void count_chain(Worker& worker) noexcept;

  // -- For host functions and waits, which no worker runs.
  HostWork* call_host_function(std::uint32_t number) noexcept;
  void invoke(const GraphPlan::HostCall& called) noexcept;
  void end_wait(std::uint32_t chain) noexcept;
  void carry_out(const Deferred& deferred) noexcept;

  // -- These are called under lock_.
  void settle(Item& item, End end, Deferred& deferred) noexcept;
  void leave_ranges(Item& item, bool yielded) noexcept;
  void complete(std::uint32_t chain) noexcept;
  void make_ready(std::uint32_t chain) noexcept;
  /// Puts back a chain that was taken from the front.
  void put_first(std::uint32_t chain) noexcept { ready_[--ready_begin_] = chain; }
  Item take() noexcept;
  bool others_could_join() const noexcept;
  void enqueue_job(Deferred& deferred) noexcept;
  bool leave() noexcept;

  /// Progressing is what a chain needs while the launch runs.
  struct Progressing {
    std::uint32_t missing = 0;     // lock_ guards it; it counts the chains that this one still waits for.
    std::uint32_t step = 0;        // The thread that works on the chain writes it; the chain goes on with this step.
    std::uint32_t next_start = 0;  // lock_ guards it until the chain is started; it links a list of chains to start.
  };

  GraphPlan plan_;
  const backend::Host host_;
  TimelinePool& timelines_;
  std::vector<RecordPoint> records_;  // The graph's mutex guards it, except for the timelines.

  // These belong to the launch that runs. They are written before another thread can join it.
  Stream* stream_ = nullptr;
  SpreadJob* job_ = nullptr;
  Scheduler* scheduler_ = nullptr;
  std::uint64_t cookie_ = 0;
  const Record* wait_for_ = nullptr;

  // lock_ guards what follows up to open_.
  alignas(64) SpinLock lock_;
  bool enqueued_ = false;  // It says whether the job is in the ready queue, or about to be.
  std::uint32_t users_ = 0;
  std::uint32_t starts_ = none;       // It is a list by next_start of ready host functions and waits.
  std::uint32_t ready_begin_ = 0;     // The ready chains begin here in ready_.
  std::uint32_t ready_end_ = 0;       // They end here.
  std::vector<std::uint32_t> ready_;  // It has room for each chain once.
  std::vector<std::uint32_t> open_;   // The chains with a step that is being spread are here, in no order.

  std::vector<Progressing> progress_;  // It has one element for each chain.
  std::unique_ptr<Spread[]> spreads_;  // It has one element for each chain, if any has a step that is spread.
  std::deque<Call> calls_;             // It has one element for each host function.
  std::deque<Wait> waits_;             // It has one element for each wait.

  std::unique_ptr<GraphBranches> branches_;  // It is null unless launches run node by node.
};

}  // namespace anyplace::cpu_sim
