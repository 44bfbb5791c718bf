// SPDX-License-Identifier: Apache-2.0
//
// GraphRun: a plan, and what the one launch of it that runs needs. A launch is one command of its stream
// (graph.h): it allocates nothing, and its order costs nothing for each node.
//
// A launch begins alone: the thread that has the stream's turn, the owner, runs the plan's chains in their order, so
// that all that a chain comes after is done. If chains could run at the same time, the owner claims each
// (SpreadJob::claim), and an invitation is in the scheduler's queue. Who takes it watches the owner: it leaves an owner
// alone that finishes a chain every few hundred nanoseconds, and puts the invitation back. Else it closes the claims.
// From then on the launch is shared: what is left has counts of what it waits for, and a list of what is ready, under
// lock_, and any number of threads run it.
//
// The owner shares its launch itself when it comes to what it can't run to the end alone: a step that is spread, a host
// function, a wait for an event that isn't complete, or something more urgent that it gives way to.
//
// parties_ counts who may touch this object: threads that run chains, host functions and waits under way, and the
// invitation while it is out. The last of them completes the command; so none is left when the next launch begins.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

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

  // -- For a launch that is submitted. One thread at a time.
  bool has_host_calls() const noexcept { return !plan_.host_calls.empty(); }
  std::size_t wait_count() const noexcept { return plan_.waits.size(); }
  /// Writes the records that the waits of a launch made now are for.
  void read_waits(Record* out) const noexcept;
  /// Makes the launch that was just submitted the most recent record of the events that it records.
  void set_records() noexcept;

  // -- For the command.
  /// Runs a launch, by the thread that has the stream's turn. `waits` are from read_waits(), and live until the launch
  /// is complete. Progress::elsewhere: another thread completes it.
  Progress begin(Stream& stream, std::uint64_t cookie, const Record* waits) noexcept;

 private:
  friend class RefCounted<GraphRun>;
  using Chain = GraphPlan::Chain;
  using Step = GraphPlan::Step;
  static constexpr std::uint32_t none = UINT32_MAX;

  /// An event that the graph records: each launch is one number more on its timeline.
  struct RecordPoint {
    Timeline* timeline;
    std::uint64_t submitted;
    Ref<Stamp> stamp;  // null for an event without timing; the same for each launch
  };
  /// A step of a chain that is spread.
  struct Spread {
    Ranges ranges;
    std::uint32_t users = 0;  // guarded by lock_; threads that run ranges
  };
  class Call final : public HostWork {
   public:
    Call(GraphRun& run, std::uint32_t number) noexcept : run_(run), number_(number) {}

   private:
    HostWork* call() noexcept override { return run_.call_host(number_); }
    GraphRun& run_;
    const std::uint32_t number_;
  };
  class Wait final : public Waiter {
   public:
    Wait(GraphRun& run, std::uint32_t chain) noexcept : run_(run), chain_(chain) {}

   private:
    void wake(Stream*&) noexcept override { run_.end_outside(chain_); }
    GraphRun& run_;
    const std::uint32_t chain_;
  };

  /// What a thread keeps while it is at the launch.
  struct Visit {
    OnlyBlock block;
    bool began = false;         // whether it has run a step
    std::uint32_t own = 0;      // ready tasks that are this launch's own; if there are no more it needn't look
    unsigned looks = 0;         // for something that it could give way to
    std::int64_t began_ns = 0;  // when it looked first
  };
  /// What a party has in hand: a chain, or ranges of its next step.
  struct Hand {
    std::uint32_t chain = none;
    bool ranges = false;
  };
  enum class End {
    nothing,     // there was nothing in hand
    done,        // the chain, or all ranges that there were
    gives_way,   // something else goes first
    spreads,     // the chain's next step is to be spread
    is_outside,  // the chain isn't for a thread that runs steps
  };
  /// What is done after lock_ was let go.
  struct Outside {
    bool invite = false;
    std::uint32_t starts = none;  // a list, by next_start_
  };

  ~GraphRun();
  Left join() noexcept override;
  bool run_alone() noexcept;
  bool finish_alone() noexcept;
  bool work(Hand hand, End end) noexcept;

  End run_hand(const Hand& hand, Visit& visit) noexcept;
  End run_steps(std::uint32_t chain, std::uint32_t from, Visit& visit) noexcept;
  void run_step(Step& step) noexcept;
  void record(std::uint32_t number) noexcept;
  bool gives_way_to_others(Visit& visit) noexcept;
  void call_for_help(std::uint32_t chain) noexcept;

  // Outside the threads that run steps.
  HostWork* call_host(std::uint32_t number) noexcept;
  void end_outside(std::uint32_t chain) noexcept;
  void act(const Outside& outside) noexcept;

  // Called under lock_.
  void share(std::uint64_t claimed) noexcept;
  void settle(Hand& hand, End end, Outside& outside) noexcept;
  void leave_ranges(Hand& hand, bool gave_way) noexcept;
  void complete(std::uint32_t chain) noexcept;
  void make_ready(std::uint32_t chain) noexcept;
  void put_first(std::uint32_t chain) noexcept { ready_[--ready_begin_] = chain; }
  Hand take() noexcept;
  bool others_could_join() const noexcept;
  void invite(Outside& outside) noexcept;
  bool leave() noexcept;

  // For each chain, while the launch is shared.
  struct Progressing {
    std::uint32_t missing = 0;     // guarded by lock_; chains that it comes after and that aren't done
    std::uint32_t step = 0;        // written by who has it in hand; where it goes on
    std::uint32_t next_start = 0;  // guarded by lock_, then by who starts it
  };

  GraphPlan plan_;
  const backend::Host host_;
  TimelinePool& timelines_;
  std::vector<RecordPoint> records_;  // guarded by the graph's mutex, but for the timelines

  // Of the launch that runs; written before any other thread joins it.
  Stream* stream_ = nullptr;
  SpreadJob* job_ = nullptr;
  Scheduler* scheduler_ = nullptr;
  std::uint64_t cookie_ = 0;
  const Record* wait_for_ = nullptr;
  std::int64_t began_ns_ = 0;
  bool claims_ = false;  // whether the owner claims each chain

  alignas(64) SpinLock lock_;
  bool shared_ = false;                // guarded by lock_
  bool invited_ = false;               // guarded by lock_; whether the invitation is out, or about to be
  std::uint32_t parties_ = 0;          // guarded by lock_
  std::uint32_t starts_ = none;        // guarded by lock_; ready chains that aren't for threads, by next_start
  std::uint32_t ready_begin_ = 0;      // guarded by lock_; in ready_
  std::uint32_t ready_end_ = 0;        // likewise
  std::vector<std::uint32_t> ready_;   // guarded by lock_; each chain once
  std::vector<std::uint32_t> open_;    // guarded by lock_; chains with a step that is spread, in no order
  std::vector<Progressing> progress_;  // one for each chain
  std::unique_ptr<Spread[]> spreads_;  // one for each chain, if any has a step that is spread
  std::deque<Call> calls_;             // one for each host function
  std::deque<Wait> waits_;             // one for each wait
};

}  // namespace anyplace::cpu_sim
