// SPDX-License-Identifier: Apache-2.0
#include "graph_run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "clock.h"
#include "director.h"
#include "engine.h"
#include "event.h"
#include "short_copy.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// A thread that could yield to a task as urgent reads the clock only every clock_steps-th time, because that takes
// time.
constexpr unsigned clock_steps = 4;
// A worker that sleeps is woken if the owner needs at least long_chain_ns for a chain, and wake_ns for what is left.
constexpr std::int64_t long_chain_ns = 1'000;
constexpr std::int64_t wake_ns = 30'000;

}  // namespace

// ---- Making --------------------------------------------------------------------------------------------------------

GraphRun::GraphRun(backend::Host host, Engine& engine, Device& device, const anyplace_graph_desc& desc)
    : plan_(engine, device, desc), host_(host), timelines_(engine.timelines()) {
  ready_.resize(plan_.size());
  progress_.resize(plan_.size());
  if (plan_.has_spread) {
    open_.reserve(plan_.size());
    spreads_ = std::make_unique<Spread[]>(plan_.size());
  }
  for (std::uint32_t i = 0; i < plan_.host_calls.size(); ++i) calls_.emplace_back(*this, i);
  for (std::uint32_t i = 0; i < plan_.size(); ++i) {
    if (plan_.chains[i].kind == Chain::wait) waits_.emplace_back(*this, i);
  }
  if (const Director* const director = Director::get(); director != nullptr && !director->has_profile()) {
    branches_ = std::make_unique<GraphBranches>(*this, plan_);
  }
  std::vector<Ref<Stamp>> stamps;
  for (const Event* event : plan_.records) stamps.push_back(event->timing() ? make_ref<Stamp>() : Ref<Stamp>());
  records_.reserve(stamps.size());
  try {
    for (Ref<Stamp>& stamp : stamps) {
      Timeline& timeline = timelines_.take();
      records_.push_back({&timeline, timeline.value(), std::move(stamp)});
    }
  } catch (...) {
    for (const RecordPoint& point : records_) timelines_.give_back(*point.timeline);
    throw;
  }
}

GraphRun::~GraphRun() {
  for (const RecordPoint& point : records_) timelines_.give_back(*point.timeline);
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

void GraphRun::read_waits(Record* out) const noexcept {
  for (const Event* event : plan_.waits) *out++ = event->latest();
}

void GraphRun::set_records() noexcept {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    RecordPoint& point = records_[i];
    plan_.records[i]->set_latest({point.timeline, ++point.submitted}, point.stamp);
  }
}

void GraphRun::describe(Operation& out) const {
  if (branches_ != nullptr) {
    out.be_silent("graph");  // Its nodes are the operations.
    out.operations = plan_.node_count;
    return;
  }
  out.kind = Operation::Kind::graph;
  out.what = "graph";
  out.touches_all = true;
  if (out.wants_nodes) plan_.describe(out.nodes);
}

// ---- Running -------------------------------------------------------------------------------------------------------

Progress GraphRun::begin(Stream& stream, std::uint64_t cookie, const Record* waits) noexcept {
  stream_ = &stream;
  job_ = &stream.spread_job();
  scheduler_ = &stream.scheduler();
  cookie_ = cookie;
  wait_for_ = waits;
  if (branches_ != nullptr) [[unlikely]] {
    branches_->begin(stream, waits);
    return Progress::elsewhere;
  }
  job_->begin_joint(*this);
  {
    const std::lock_guard lock(lock_);
    users_ = 1;
    enqueued_ = false;
    starts_ = none;
    ready_begin_ = ready_end_ = 0;
    const std::uint32_t size = plan_.size();
    for (std::uint32_t chain = 0; chain < size; ++chain) {
      progress_[chain].missing = plan_.chains[chain].dependencies;
      if (progress_[chain].missing != 0) continue;
      backend::release_to_sanitizer(&progress_[chain]);
      make_ready(chain);
    }
  }
  Worker owner;
  owner.is_owner = true;
  return work({}, End::nothing, owner) ? Progress::done : Progress::elsewhere;
}

JointWork::Joined GraphRun::join() noexcept {
  const bool worth = job_->is_worth_joining();
  {
    const std::lock_guard lock(lock_);
    // The job goes back under lock_, so that the last other user finds it in the queue and completes the launch itself.
    if (!worth && users_ > 1) {
      scheduler_->put_back(*job_);
      return Joined::refused;
    }
    enqueued_ = false;
  }
  return work({}, End::nothing, {}) ? Joined::completes : Joined::left;
}

/// Runs ready chains, as one user, until there is none or the thread yields. `end` says how the work on `item` ended.
/// Returns true to the last user; to any other, the object may belong to another launch already.
bool GraphRun::work(Item item, End end, Worker worker) noexcept {
  for (;;) {
    Deferred deferred;
    bool last = false;
    {
      const std::lock_guard lock(lock_);
      settle(item, end, deferred);
      if (end != End::yields && item.chain == none) item = take();
      deferred.starts = std::exchange(starts_, none);
      // The job is enqueued before the chain runs, because that chain may wait for another one.
      if (others_could_join() && scheduler_->limit() > 1) enqueue_job(deferred);
      if (item.chain == none) last = leave();
    }
    carry_out(deferred);
    if (item.chain == none) return last;
    end = run_item(item, worker);
    if (worker.is_owner && end == End::done && !item.ranges) count_chain(worker);
  }
}

/// Tells others that the owner has completed a chain. After 1, 2, 4, 8 and so on chains it wakes a worker that sleeps
/// if the chains are long, because threads that find little to do poll at longer and longer intervals.
void GraphRun::count_chain(Worker& worker) noexcept {
  job_->count_piece();
  const std::uint32_t chains = ++worker.chains;
  if ((chains & (chains - 1)) != 0 || !job_->queued()) return;
  const std::int64_t now = now_ns();
  if (worker.first_ns == 0) {
    worker.first_ns = now;
    worker.first_chains = chains;
    return;
  }
  const std::int64_t each = (now - worker.first_ns) / (chains - worker.first_chains);
  if (each >= long_chain_ns && each * (plan_.size() - chains) > wake_ns) scheduler_->wake_worker();
}

/// Notes how the work on the caller's item ended, and changes `item` to what the caller goes on with.
void GraphRun::settle(Item& item, End end, Deferred& deferred) noexcept {
  if (item.chain == none) return;
  const std::uint32_t chain = item.chain;
  if (item.ranges) {
    leave_ranges(item, end == End::yields);
  } else if (end == End::spreads) {
    Spreadable& work = *plan_.steps[progress_[chain].step].work_;
    spreads_[chain].ranges.begin(work, work.extent());
    spreads_[chain].users = 1;
    open_.push_back(chain);
    item.ranges = true;
    return;
  } else {
    item.chain = none;
    if (end == End::done) complete(chain);
    if (end == End::yields) put_first(chain);
  }
  if (end == End::yields && others_could_join()) enqueue_job(deferred);
}

/// The thread that leaves the ranges of a step last, with no unit left, goes on with the step's chain.
void GraphRun::leave_ranges(Item& item, bool yielded) noexcept {
  const std::uint32_t chain = item.chain;
  item = {};
  Spread& spread = spreads_[chain];
  if (--spread.users != 0 || spread.ranges.left()) {
    backend::release_to_sanitizer(&spread);
    return;
  }
  backend::acquire_from_sanitizer(&spread);
  *std::find(open_.begin(), open_.end(), chain) = open_.back();
  open_.pop_back();
  ++progress_[chain].step;
  if (yielded) {
    put_first(chain);
  } else {
    item.chain = chain;
  }
}

void GraphRun::complete(std::uint32_t chain) noexcept {
  const Chain& done = plan_.chains[chain];
  for (std::uint32_t i = done.first_successor; i < done.last_successor; ++i) {
    const std::uint32_t successor = plan_.successors[i];
    backend::release_to_sanitizer(&progress_[successor]);
    if (--progress_[successor].missing == 0) make_ready(successor);
  }
}

/// Is called when the chain waits for no other chain. A host function, and a wait that isn't over, is a user from now
/// on, and no worker runs it.
void GraphRun::make_ready(std::uint32_t chain) noexcept {
  const Chain& ready = plan_.chains[chain];
  progress_[chain].step = ready.begin;
  const bool for_worker =
      ready.kind == Chain::steps || (ready.kind == Chain::wait && wait_for_[ready.begin].complete());
  if (for_worker) {
    ready_[ready_end_++] = chain;
    return;
  }
  ++users_;
  progress_[chain].next_start = std::exchange(starts_, chain);
}

GraphRun::Item GraphRun::take() noexcept {
  if (ready_begin_ != ready_end_) {
    const std::uint32_t chain = ready_[ready_begin_++];
    backend::acquire_from_sanitizer(&progress_[chain]);
    return {chain};
  }
  for (const std::uint32_t chain : open_) {
    if (!spreads_[chain].ranges.left()) continue;
    ++spreads_[chain].users;
    return {chain, true};
  }
  return {};
}

bool GraphRun::others_could_join() const noexcept {
  return ready_begin_ != ready_end_ ||
         std::any_of(open_.begin(), open_.end(), [this](std::uint32_t chain) { return spreads_[chain].ranges.left(); });
}

void GraphRun::enqueue_job(Deferred& deferred) noexcept {
  if (enqueued_) return;
  enqueued_ = deferred.enqueues_job = true;
  ++users_;
}

/// Ends the caller's use of the launch. Returns true to the last user.
bool GraphRun::leave() noexcept {
  if (enqueued_ && !others_could_join() && scheduler_->withdraw(*job_)) {
    enqueued_ = false;
    --users_;
  }
  backend::release_to_sanitizer(&users_);
  if (--users_ != 0) return false;
  backend::acquire_from_sanitizer(&users_);
  return true;
}

/// Starts what was deferred. The caller is a user, or has left: what it starts here, and the job, are users themselves
/// and keep the launch alive. If it starts nothing, the object may be gone and isn't touched.
void GraphRun::carry_out(const Deferred& deferred) noexcept {
  if (deferred.starts == none && !deferred.enqueues_job) return;
  SpreadJob& job = *job_;
  Scheduler& scheduler = *scheduler_;
  HostThread& host_thread = stream_->device().host_thread();
  for (std::uint32_t next = deferred.starts; next != none;) {
    const std::uint32_t chain = std::exchange(next, progress_[next].next_start);
    const std::uint32_t number = plan_.chains[chain].begin;
    if (plan_.chains[chain].kind == Chain::host_function) {
      host_thread.post(calls_[number]);
    } else if (!wait_for_[number].timeline->park(waits_[number], wait_for_[number].target)) {
      end_wait(chain);
    }
  }
  if (deferred.enqueues_job) scheduler.enqueue(job);
}

// ---- Host functions and waits --------------------------------------------------------------------------------------

void GraphRun::invoke(const GraphPlan::HostCall& called) noexcept {
  // The core catches what its users throw; this is for hosts that don't.
  try {
    called.function(called.user, ANYPLACE_STATUS_OK);
  } catch (const std::exception& exception) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, exception.what());
  } catch (...) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, "it threw something that is no std::exception");
  }
}

/// The host thread calls this.
HostWork* GraphRun::call_host_function(std::uint32_t number) noexcept {
  const GraphPlan::HostCall& called = plan_.host_calls[number];
  if (branches_ != nullptr) [[unlikely]] {
    invoke(called);
    return branches_->host_function_called(called.chain);
  }
  backend::acquire_from_sanitizer(&progress_[called.chain]);
  invoke(called);
  Stream& stream = *stream_;
  Deferred deferred;
  HostWork* next = nullptr;
  bool last = false;
  {
    const std::lock_guard lock(lock_);
    complete(called.chain);
    // If a host function has become ready, this thread calls it next.
    if (starts_ != none && plan_.chains[starts_].kind == Chain::host_function) {
      const std::uint32_t chain = std::exchange(starts_, progress_[starts_].next_start);
      next = &calls_[plan_.chains[chain].begin];
    }
    deferred.starts = std::exchange(starts_, none);
    if (others_could_join()) enqueue_job(deferred);
    last = leave();
  }
  if (last) return stream.finish_host_function();
  carry_out(deferred);
  return next;
}

/// Any thread calls this when the wait is over. A thread of the scheduler completes the command, because the caller may
/// be executing another stream.
void GraphRun::end_wait(std::uint32_t chain) noexcept {
  Deferred deferred;
  {
    const std::lock_guard lock(lock_);
    complete(chain);
    deferred.starts = std::exchange(starts_, none);
    enqueue_job(deferred);
    backend::release_to_sanitizer(&users_);
    --users_;
  }
  carry_out(deferred);
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

GraphRun::End GraphRun::run_item(const Item& item, Worker& worker) noexcept {
  if (!item.ranges) return run_steps(item.chain, worker);
  return spreads_[item.chain].ranges.run(*scheduler_, *job_) ? End::yields : End::done;
}

/// Runs the chain from its current step on.
GraphRun::End GraphRun::run_steps(std::uint32_t chain, Worker& worker) noexcept {
  const Chain& run = plan_.chains[chain];
  if (run.kind == Chain::wait) return End::done;  // It was over when the chain became ready.
  Step* const steps = plan_.steps.data();
  std::uint32_t packed = 0;
  anyplace_block block = one_block(packed);  // It is made again only where the size changes.
  for (std::uint32_t at = progress_[chain].step; at != run.end; ++at) {
    Step& step = steps[at];
    if (scheduler_->others_ready() && worker.began && yields_to_others(worker)) {
      progress_[chain].step = at;
      return End::yields;
    }
    worker.began = true;
    if (step.kind == Step::launch) [[likely]] {
      if (step.packed != packed) block = one_block(packed = step.packed);
      step.kernel->run_one_block(block, nullptr, cookie_);
    } else if (step.kind == Step::spread) {
      progress_[chain].step = at;
      if (step.launched != nullptr) step.launched->set_cookie(cookie_);
      return End::spreads;
    } else {
      run_step(step);
    }
  }
  return End::done;
}

void GraphRun::run_alone(std::uint32_t number) noexcept {
  Step& step = plan_.steps[number];
  if (step.kind == Step::launch) {
    anyplace_block block = one_block(step.packed);
    return step.kernel->run_one_block(block, nullptr, cookie_);
  }
  run_step(step);
}

void GraphRun::post_host_function(std::uint32_t number) noexcept {
  stream_->device().host_thread().post(calls_[number]);
}

/// Runs a step that is neither a simple launch nor spread.
void GraphRun::run_step(Step& step) noexcept {
  switch (step.kind) {
    case Step::copy:
      return run_copy(step.address, step.source, step.bytes);
    case Step::fill:
      return run_fill(step.address, step.packed, step.bytes, step.count);
    case Step::record:
      return record(step.packed);
    default:
      if (step.launched != nullptr) step.launched->set_cookie(cookie_);
      std::atomic<bool> stop{false};
      return step.work_->run_units(0, step.bytes, stop);
  }
}

void GraphRun::record(std::uint32_t number) noexcept {
  const RecordPoint& point = records_[number];
  if (point.stamp) point.stamp->ns.store(device_now_ns(), std::memory_order_relaxed);
  Stream* woken = nullptr;
  point.timeline->advance(point.timeline->value() + 1, woken);
  if (woken != nullptr) woken->scheduler().enqueue_woken(*woken);
}

/// Is called when a task is ready, which may be the launch's own job.
bool GraphRun::yields_to_others(Worker& worker) noexcept {
  if (scheduler_->more_urgent(job_->level())) return true;
  if (!scheduler_->others_as_urgent(*job_) || worker.looks++ % clock_steps != 0) return false;
  const std::int64_t now = now_ns();
  if (worker.began_ns == 0) worker.began_ns = now;
  return should_yield(*scheduler_, *job_, worker.began_ns, now);
}

}  // namespace anyplace::cpu_sim
