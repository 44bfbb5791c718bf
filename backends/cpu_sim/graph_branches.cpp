// SPDX-License-Identifier: Apache-2.0
#include "graph_branches.h"

#include <string>

#include "director.h"
#include "graph_run.h"
#include "operation.h"
#include "stream.h"

namespace anyplace::cpu_sim {

GraphBranches::GraphBranches(GraphRun& run, const GraphPlan& plan) : run_(run), plan_(plan) {
  for (std::uint32_t chain = 0; chain < plan.size(); ++chain) branches_.emplace_back(*this, chain);
}

void GraphBranches::begin(Stream& stream, const Record* waits) noexcept {
  stream_ = &stream;
  waits_ = waits;
  first_ = stream.stepped() - plan_.node_count;  // The launch has been counted (Operation::operations).
  left_.store(plan_.size(), std::memory_order_relaxed);
  for (Branch& branch : branches_) branch.prepare();
  // The launch may be complete, and this object gone, as soon as the last chain has started.
  std::uint32_t roots = 0;
  for (const GraphPlan::Chain& chain : plan_.chains) roots += chain.dependencies == 0;
  for (std::uint32_t chain = 0; roots != 0; ++chain) {
    if (plan_.chains[chain].dependencies != 0) continue;
    --roots;
    branches_[chain].start();
  }
}

/// Starts the chains that waited for this one alone. Returns true to the last chain of the launch: its caller completes
/// the command, by which this object may go.
bool GraphBranches::complete(std::uint32_t chain) noexcept {
  const GraphPlan::Chain& done = plan_.chains[chain];
  for (std::uint32_t i = done.first_successor; i < done.last_successor; ++i) {
    Branch& successor = branches_[plan_.successors[i]];
    if (successor.is_last_before()) successor.start();
  }
  return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

HostWork* GraphBranches::host_function_called(std::uint32_t chain) noexcept {
  Stream& stream = *stream_;
  return complete(chain) ? stream.finish_host_function() : nullptr;
}

// ---- A branch ------------------------------------------------------------------------------------------------------

void GraphBranches::Branch::prepare() noexcept {
  set_level(all_.stream_->level());
  passed_over = 0;
  next_ = chain().begin;
  missing_.store(chain().dependencies, std::memory_order_relaxed);
}

void GraphBranches::Branch::start() noexcept {
  if (chain().kind == GraphPlan::Chain::wait) {
    const Record& record = all_.waits_[chain().begin];
    if (record.timeline != nullptr && record.timeline->park(*this, record.target)) return;
  }
  Director::get()->ready(*this);
}

void GraphBranches::Branch::wake(Stream*&) noexcept { Director::get()->ready(*this); }

Task::Done GraphBranches::Branch::run() noexcept {
  step();
  return {1, false};
}

void GraphBranches::Branch::step() noexcept {
  const GraphPlan::Chain& own = chain();
  if (own.kind == GraphPlan::Chain::host_function) return all_.run_.post_host_function(own.begin);
  if (own.kind == GraphPlan::Chain::steps && next_ != own.end) {
    all_.run_.run_alone(next_++);
    // Another thread may have the task after that.
    if (next_ != own.end) return Director::get()->ready(*this);
  }
  Stream& stream = *all_.stream_;
  if (all_.complete(chain_)) stream.finish_elsewhere();
}

void GraphBranches::Branch::describe(Operation& out) {
  all_.stream_->describe_itself(out);
  out.branch = chain_ + 1;
  out.done = all_.first_ + all_.plan_.node_of(chain(), next_);
  describe_node(out);
  if (!out.is_silent) out.what += " (node " + std::to_string(out.done - all_.first_) + ")";
}

void GraphBranches::Branch::describe_node(Operation& out) const {
  if (chain().kind == GraphPlan::Chain::wait) return out.be_silent("wait");
  if (chain().kind == GraphPlan::Chain::host_function) {
    out.kind = Operation::Kind::host_function;
    out.what = "host function";
    out.touches_all = true;
    return;
  }
  if (next_ == chain().end) return out.be_silent("node");
  all_.plan_.describe_step(next_, out);
}

}  // namespace anyplace::cpu_sim
