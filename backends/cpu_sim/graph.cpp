// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "command.h"
#include "failure.h"
#include "operation.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

/// A LaunchGraph is the command of one launch. Behind it in the queue lie the records that the graph's waits are for.
class LaunchGraph final : public Command {
 public:
  LaunchGraph(Ref<GraphRun> run, std::uint64_t cookie) noexcept : run_(std::move(run)), cookie_(cookie) {}

  Progress execute(Stream& stream) noexcept override {
    return run_->begin(stream, cookie_, static_cast<const Record*>(CommandQueue::tail_of(*this)));
  }
  /// Of several waits that aren't over it shows the first one.
  void describe(Operation& out) const override {
    run_->describe(out);
    const Record* const waits = static_cast<const Record*>(CommandQueue::tail_of(*this));
    const Record* const end = waits + run_->wait_count();
    const Record* const open = std::find_if(waits, end, [](const Record& record) { return !record.complete(); });
    if (open != end) out.waits_for = *open;
  }

 private:
  Ref<GraphRun> run_;
  std::uint64_t cookie_;
};

}  // namespace

Graph::Graph(backend::Host host, Engine& engine, Device& device, const anyplace_graph_desc& desc)
    : host_(host),
      engine_(engine),
      device_(device),
      run_(make_ref<GraphRun>(host, engine, device, desc)),
      waits_(run_->wait_count()) {}

void Graph::update(const anyplace_graph_desc& desc) {
  Ref<GraphRun> run = make_ref<GraphRun>(host_, engine_, device_, desc);
  std::vector<Record> waits(run->wait_count());
  const std::lock_guard lock(mutex_);
  std::swap(run_, run);  // The earlier run is released after the lock, because `run` was declared before it.
  waits_.swap(waits);
}

void Graph::launch(Stream& stream, std::uint64_t cookie) {
  if (&stream.device() != &device_) {
    bad_argument("a graph of device " + std::to_string(device_.index()) + " is launched on a stream of device " +
                 std::to_string(stream.device().index()));
  }
  const std::lock_guard lock(mutex_);
  if (run_->has_host_calls()) device_.host_thread().start();
  run_->read_waits(waits_.data());
  const auto copy_waits = [this](LaunchGraph&, void* tail) noexcept {
    std::uninitialized_copy(waits_.begin(), waits_.end(), static_cast<Record*>(tail));
  };
  stream.submit_with_tail<LaunchGraph>(waits_.size() * sizeof(Record), copy_waits, Ref<GraphRun>(run_), cookie);
  run_->set_records();
}

}  // namespace anyplace::cpu_sim
