// SPDX-License-Identifier: Apache-2.0
#include "graph_run.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "clock.h"
#include "engine.h"
#include "event.h"
#include "short_copy.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// A thread that could give way to streams as urgent reads the clock at every so many steps only.
constexpr unsigned clock_steps = 4;
// A worker that rests is called when the owner needs at least this for a chain, and for what is left this.
constexpr std::int64_t long_chain_ns = 1'000;
constexpr std::int64_t call_ns = 30'000;

}  // namespace

// ---- Making --------------------------------------------------------------------------------------------------------

GraphRun::GraphRun(backend::Host host, Engine& engine, Device& device, const anyplace_graph_desc& desc)
    : plan_(engine, device, desc), host_(host), timelines_(engine.timelines()) {
  ready_.resize(plan_.size() + std::size_t{1});  // one for a wait that the owner had in hand and that is over by then
  progress_.resize(plan_.size());
  if (plan_.has_spread) {
    open_.reserve(plan_.size());
    spreads_ = std::make_unique<Spread[]>(plan_.size());
  }
  for (std::uint32_t i = 0; i < plan_.host_calls.size(); ++i) calls_.emplace_back(*this, i);
  for (std::uint32_t i = 0; i < plan_.size(); ++i) {
    if (plan_.chains[i].kind == Chain::wait) waits_.emplace_back(*this, i);
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

// ---- Alone ---------------------------------------------------------------------------------------------------------

Progress GraphRun::begin(Stream& stream, std::uint64_t cookie, const Record* waits) noexcept {
  stream_ = &stream;
  job_ = &stream.spread_job();
  scheduler_ = &stream.scheduler();
  cookie_ = cookie;
  wait_for_ = waits;
  shared_ = false;
  claims_ = !plan_.is_line && scheduler_->limit() > 1;
  invited_ = claims_;
  parties_ = claims_ ? 2 : 1;
  job_->begin_joint(*this);
  if (claims_) {
    began_ns_ = now_ns();
    job_->open_claims();
    // Before the first chain runs: it may wait for another one.
    scheduler_->enqueue(*job_);
  }
  return run_alone() ? Progress::done : Progress::elsewhere;
}

/// Runs chains in their order until all are done, or the launch is shared, and then as one party of it. True to the
/// last party.
bool GraphRun::run_alone() noexcept {
  Visit visit;
  visit.own = claims_ ? 1 : 0;
  const std::uint32_t size = plan_.size();
  for (std::uint32_t chain = 0;;) {
    const End end = run_steps(chain, plan_.chains[chain].begin, visit);
    if (end != End::done) return work({chain}, end);
    if (!claims_) {
      if (++chain == size) return true;
      continue;
    }
    if ((chain & (chain + 1)) == 0) call_for_help(chain);
    if (backend::unseen_by_thread_sanitizer()) backend::release_to_sanitizer(&progress_);
    const std::uint64_t claimed = job_->claim();
    if (claimed >= SpreadJob::closed_claims) return work({chain}, End::done);
    chain = static_cast<std::uint32_t>(claimed);
    if (chain == size) return finish_alone();
  }
}

/// By the owner, when it has run everything. True if nobody else is at the launch.
bool GraphRun::finish_alone() noexcept {
  const std::lock_guard lock(lock_);
  if (shared_) return leave();  // the claims were closed after the last one
  if (scheduler_->withdraw(*job_)) {
    job_->end_claims();
    return true;
  }
  backend::release_to_sanitizer(&parties_);
  parties_ = 1;  // of who took the invitation: it is in join()
  return false;
}

/// Called after 1, 2, 4, 8 and so on chains. Threads that find little to do look at longer and longer intervals.
void GraphRun::call_for_help(std::uint32_t chain) noexcept {
  const std::int64_t each = (now_ns() - began_ns_) / (chain + 1);
  if (each >= long_chain_ns && each * (plan_.size() - chain - 1) > call_ns) scheduler_->call();
}

JointWork::Left GraphRun::join() noexcept {
  const bool worth = job_->is_worth_joining();
  {
    const std::lock_guard lock(lock_);
    if (!shared_) {
      if (parties_ == 1) {  // the owner has run everything
        job_->end_claims();
        backend::acquire_from_sanitizer(&parties_);
        return Left::complete;
      }
      if (!worth || job_->claims() >= plan_.size()) {
        scheduler_->put_back(*job_);
        return Left::refused;
      }
      share(job_->close_claims());
    }
    invited_ = false;
  }
  return work({}, End::nothing) ? Left::complete : Left::to_others;
}

// ---- Shared --------------------------------------------------------------------------------------------------------

/// Gives the chains that nobody has claimed their counts. All but the last of those that were claimed are done. That
/// one is in the owner's hand, or done without the owner having said so.
void GraphRun::share(std::uint64_t claimed) noexcept {
  shared_ = true;
  ready_begin_ = ready_end_ = static_cast<std::uint32_t>(claimed);  // with room in front (put_first)
  const auto size = plan_.size();
  for (std::uint32_t s = 0; s < size; ++s) progress_[s].missing = plan_.chains[s].dependencies;
  for (std::uint32_t s = 0; s + 1 < claimed; ++s) {
    const Chain& chain = plan_.chains[s];
    for (std::uint32_t i = chain.first_successor; i < chain.last_successor; ++i) {
      --progress_[plan_.successors[i]].missing;
    }
  }
  backend::acquire_from_sanitizer(&progress_);
  for (auto s = static_cast<std::uint32_t>(claimed); s < size; ++s) {
    backend::release_to_sanitizer(&progress_[s]);
    if (progress_[s].missing == 0) make_ready(s);
  }
}

/// Runs what is ready, as one party, until there is nothing for it or it gives way. `end` is how what it has in hand
/// ended. True to the last party; to any other, the object may belong to another launch already.
bool GraphRun::work(Hand hand, End end) noexcept {
  for (Visit visit;;) {
    Outside outside;
    bool last = false;
    {
      const std::lock_guard lock(lock_);
      if (!shared_) share(claims_ ? job_->close_claims() : hand.chain + 1);
      settle(hand, end, outside);
      if (end != End::gives_way && hand.chain == none) hand = take();
      outside.starts = std::exchange(starts_, none);
      if (others_could_join() && scheduler_->limit() > 1) invite(outside);
      if (hand.chain == none) last = leave();
    }
    act(outside);
    if (hand.chain == none) return last;
    end = run_hand(hand, visit);
  }
}

/// What becomes of what the caller had in hand.
void GraphRun::settle(Hand& hand, End end, Outside& outside) noexcept {
  if (hand.chain == none) return;
  const std::uint32_t chain = hand.chain;
  if (hand.ranges) {
    leave_ranges(hand, end == End::gives_way);
  } else if (end == End::spreads) {
    Spreadable& work = *plan_.steps[progress_[chain].step].work_;
    spreads_[chain].ranges.begin(work, work.extent());
    spreads_[chain].users = 1;
    open_.push_back(chain);
    hand.ranges = true;
    return;
  } else {
    hand.chain = none;
    if (end == End::done) complete(chain);
    if (end == End::is_outside) make_ready(chain);
    if (end == End::gives_way) put_first(chain);
  }
  if (end == End::gives_way && others_could_join()) invite(outside);
}

/// Who leaves the ranges of a step last, with no unit left, goes on with its chain.
void GraphRun::leave_ranges(Hand& hand, bool gave_way) noexcept {
  const std::uint32_t chain = hand.chain;
  hand = {};
  Spread& spread = spreads_[chain];
  if (--spread.users != 0 || spread.ranges.left()) {
    backend::release_to_sanitizer(&spread);
    return;
  }
  backend::acquire_from_sanitizer(&spread);
  *std::find(open_.begin(), open_.end(), chain) = open_.back();
  open_.pop_back();
  ++progress_[chain].step;
  if (gave_way) {
    put_first(chain);
  } else {
    hand.chain = chain;
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

/// Called when nothing is missing. What isn't for a thread that runs steps is a party from now on.
void GraphRun::make_ready(std::uint32_t chain) noexcept {
  const Chain& ready = plan_.chains[chain];
  progress_[chain].step = ready.begin;
  const bool outside =
      ready.kind == Chain::host_function || (ready.kind == Chain::wait && !wait_for_[ready.begin].complete());
  if (!outside) {
    ready_[ready_end_++] = chain;
    return;
  }
  ++parties_;
  progress_[chain].next_start = std::exchange(starts_, chain);
}

GraphRun::Hand GraphRun::take() noexcept {
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

void GraphRun::invite(Outside& outside) noexcept {
  if (invited_) return;
  invited_ = outside.invite = true;
  ++parties_;
}

/// The caller is no party any more. True to the last one.
bool GraphRun::leave() noexcept {
  if (invited_ && !others_could_join() && scheduler_->withdraw(*job_)) {
    invited_ = false;
    --parties_;
  }
  backend::release_to_sanitizer(&parties_);
  if (--parties_ != 0) return false;
  backend::acquire_from_sanitizer(&parties_);
  return true;
}

/// Called by a party, or by one that has left: what is started here, and the invitation, are parties themselves. If
/// there are none this may be gone.
void GraphRun::act(const Outside& outside) noexcept {
  if (outside.starts == none && !outside.invite) return;
  SpreadJob& job = *job_;
  Scheduler& scheduler = *scheduler_;
  HostThread& host_thread = stream_->device().host_thread();
  for (std::uint32_t next = outside.starts; next != none;) {
    const std::uint32_t chain = std::exchange(next, progress_[next].next_start);
    const std::uint32_t number = plan_.chains[chain].begin;
    if (plan_.chains[chain].kind == Chain::host_function) {
      host_thread.post(calls_[number]);
    } else if (!wait_for_[number].timeline->park(waits_[number], wait_for_[number].target)) {
      end_outside(chain);
    }
  }
  if (outside.invite) scheduler.enqueue(job);
}

// ---- Outside the threads that run steps ----------------------------------------------------------------------------

/// By the host thread.
HostWork* GraphRun::call_host(std::uint32_t number) noexcept {
  const GraphPlan::HostCall& called = plan_.host_calls[number];
  backend::acquire_from_sanitizer(&progress_[called.chain]);
  // The core catches what its users throw; this is for hosts that don't.
  try {
    called.function(called.user, ANYPLACE_STATUS_OK);
  } catch (const std::exception& exception) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, exception.what());
  } catch (...) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_HOST_FUNCTION_FAILED, "it threw something that is no std::exception");
  }
  Stream& stream = *stream_;
  Outside outside;
  HostWork* next = nullptr;
  bool last = false;
  {
    const std::lock_guard lock(lock_);
    complete(called.chain);
    // A host function that became ready is called next by this thread.
    if (starts_ != none && plan_.chains[starts_].kind == Chain::host_function) {
      const std::uint32_t chain = std::exchange(starts_, progress_[starts_].next_start);
      next = &calls_[plan_.chains[chain].begin];
    }
    outside.starts = std::exchange(starts_, none);
    if (others_could_join()) invite(outside);
    last = leave();
  }
  if (last) return stream.finish_host_function();
  act(outside);
  return next;
}

/// By any thread: the wait is over. The command is completed by a thread of the scheduler, as this one may be in the
/// middle of another stream.
void GraphRun::end_outside(std::uint32_t chain) noexcept {
  Outside outside;
  {
    const std::lock_guard lock(lock_);
    complete(chain);
    outside.starts = std::exchange(starts_, none);
    invite(outside);
    backend::release_to_sanitizer(&parties_);
    --parties_;
  }
  act(outside);
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

GraphRun::End GraphRun::run_hand(const Hand& hand, Visit& visit) noexcept {
  if (!hand.ranges) return run_steps(hand.chain, progress_[hand.chain].step, visit);
  return spreads_[hand.chain].ranges.run(*scheduler_, *job_) ? End::gives_way : End::done;
}

/// Runs the chain's steps from step `from` on.
GraphRun::End GraphRun::run_steps(std::uint32_t chain, std::uint32_t from, Visit& visit) noexcept {
  const Chain& run = plan_.chains[chain];
  if (run.kind != Chain::steps) {
    return run.kind == Chain::wait && wait_for_[run.begin].complete() ? End::done : End::is_outside;
  }
  Step* const steps = plan_.steps.data();
  for (std::uint32_t at = from; at != run.end; ++at) {
    Step& step = steps[at];
    if (scheduler_->ready_tasks() > visit.own && visit.began && gives_way_to_others(visit)) {
      progress_[chain].step = at;
      return End::gives_way;
    }
    visit.began = true;
    if (step.kind == Step::launch) [[likely]] {
      visit.block.run(*step.kernel, step.packed, cookie_);
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
  if (point.stamp) point.stamp->ns.store(now_ns(), std::memory_order_relaxed);
  Stream* woken = nullptr;
  point.timeline->advance(point.timeline->value() + 1, woken);
  if (woken != nullptr) woken->scheduler().enqueue_woken(*woken);
}

/// Called when something is ready.
bool GraphRun::gives_way_to_others(Visit& visit) noexcept {
  if (scheduler_->more_urgent(job_->level())) return true;
  if (!scheduler_->others_as_urgent(*job_) || visit.looks++ % clock_steps != 0) return false;
  const std::int64_t now = now_ns();
  if (visit.began_ns == 0) visit.began_ns = now;
  return gives_way(*scheduler_, *job_, visit.began_ns, now);
}

}  // namespace anyplace::cpu_sim
