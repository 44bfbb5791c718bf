// SPDX-License-Identifier: Apache-2.0
//
// This file has the turns of the host threads and the choices.
#include "director.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "address_range.h"
#include "failure.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

// A thread that asked so often in vain goes on only after something else has happened. So a loop that asks ends under
// every strategy. The core asks for a few events at a time, too, when it looks for memory that is free again.
constexpr unsigned most_in_vain = 10;

// An option that was passed over so often in a row is taken, so that a loop of one thread doesn't keep the others from
// going on for ever, which would be waiting for them: eager always goes on with the thread that ran.
constexpr unsigned most_passed_over = 500;

// A wait whose time runs out takes so much real time at most, as its virtual time is another one. A shorter wait takes
// its time, so that a host that reads its own clock doesn't find that it ended too early.
constexpr std::int64_t longest_real_wait_ns = 50'000'000;

/// Returns whether the calling thread only asks, in its own time: its questions are answered without a turn.
bool is_polling_thread() noexcept {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return is_polling(name);
}

bool are_complete(std::span<const Record> records) noexcept {
  return std::all_of(records.begin(), records.end(), [](const Record& record) { return record.complete(); });
}

}  // namespace

constinit Director* Director::director_ = nullptr;

constinit thread_local Director::Caller* Director::this_caller_ = nullptr;

void Director::make(const Config& config) {
  if (!config.deterministic || director_ != nullptr) return;
  director_ = new Director(config);
  align_blocks_by_size();
  // What the child does isn't seen here, and the core refuses its calls.
  pthread_atfork(
      nullptr,
      [] {
        Director& director = *director_;
        const Lock lock = director.enter();
        director.report_uncontrolled("the process has forked, and what the child does is not in this schedule");
      },
      nullptr);
}

/// Locks mutex_. A thread that waits for it isn't at rest (look_at_threads).
Director::Lock Director::enter() noexcept {
  Lock lock(mutex_, std::defer_lock);
  enter_again(lock);
  return lock;
}

void Director::enter_again(Lock& lock) noexcept {
  entering_.fetch_add(1, std::memory_order_relaxed);
  lock.lock();
  entering_.fetch_sub(1, std::memory_order_relaxed);
}

void Director::add(Task& stream) {
  const Lock lock = enter();
  stream.passed_over = 0;
  if (std::find(streams_.begin(), streams_.end(), &stream) == streams_.end()) streams_.push_back(&stream);
}

void Director::forget_stream(std::uint64_t number) noexcept {
  const Lock lock = enter();
  strategy_->forget(actor_of_stream(number));
}

void Director::add_memory(anyplace_address begin, std::uint64_t bytes) {
  if (begin == 0) return;
  const Lock lock = enter();
  memory_[begin] = {begin + bytes, ++allocations_};
}

void Director::remove_memory(anyplace_address begin) {
  const Lock lock = enter();
  memory_.erase(begin);
}

// ---- Turns ---------------------------------------------------------------------------------------------------------

Director::Caller& Director::self() {
  if (this_caller_ == nullptr) {
    callers_.reserve(callers_.size() + 1);
    this_caller_ = new Caller;
    this_caller_->thread = this_thread();
    callers_.push_back(this_caller_);
  }
  return *this_caller_;
}

/// Forgets the callers whose threads have ended. The list of threads is as it was, unless one of them isn't in it,
/// which may have begun since.
void Director::forget_ended() {
  const auto& threads = threads_.known();
  const auto is_gone = [&](const Caller* caller) {
    // A listing may lack a thread that follows one which ended meanwhile.
    return caller->state == Caller::State::outside && holder_ != caller && !threads.contains(caller->thread) &&
           has_ended(caller->thread);
  };
  if (std::none_of(callers_.begin(), callers_.end(), is_gone)) return;
  threads_.list(true);
  std::erase_if(callers_, [&](Caller* caller) {
    if (!is_gone(caller)) return false;
    if (last_holder_ == caller) last_holder_ = nullptr;
    if (caller->number != unnumbered) strategy_->forget(actor_of_thread(caller->number));
    delete caller;
    return true;
  });
}

bool Director::begin_call(const char* name) {
  if (stopped_.load(std::memory_order_relaxed) || on_own_thread() || is_polling_thread()) return false;
  Lock lock = enter();
  Caller& caller = self();
  caller.call = name;
  if (time_ != nullptr) caller.time_ns = now_ns() + time_->call_ns();
  const bool is_timely = time_ == nullptr ? !may_be_silent_ : is_nothing_ready();
  if (is_timely && callers_.size() == 1 && holder_ == nullptr && !directing_ && is_alone()) {
    // There is nobody to choose from, and nothing to wait for.
    holder_ = last_holder_ = &caller;
    if (caller.number == unnumbered) caller.number = numbers_++;
    refused_.clear();
  } else {
    take_turn(lock, caller, Caller::State::enters);
  }
  ++caller.calls;
  ++calls_;
  set_clock(time_ == nullptr ? now_ns() + costs_.call_ns() : caller.time_ns);
  return true;
}

/// Lets virtual time go on. It never goes back.
void Director::set_clock(std::int64_t ns) {
  clock_ns_.store(std::max(now_ns(), ns), std::memory_order_relaxed);
  if (time_ != nullptr) time_->advance(now_ns());
}

void Director::end_call(Outcome outcome) {
  Lock lock = enter();
  Caller& caller = self();
  if (outcome == Outcome::changed) caller.in_vain = 0;
  if (outcome == Outcome::not_ready) ++caller.in_vain;
  caller.time_ns = now_ns();
  if (outcome == Outcome::waited) caller.submissions = 0;
  if (outcome >= Outcome::changed && !stopped_) {
    submissions_ = std::max(submissions_, ++caller.submissions);
    take_turn(lock, caller, Caller::State::returns);
  }
  give_turn(&caller);
}

bool Director::has_turn() noexcept {
  const Lock lock = enter();
  return holder_ != nullptr && holder_ == this_caller_;
}

bool Director::wait_for(std::span<const Record> records, std::uint64_t timeout_ns) {
  Lock lock = enter();
  Caller& caller = self();
  if (are_complete(records) || timeout_ns == 0) return are_complete(records);
  constexpr std::uint64_t longest_ns = INT64_MAX / 4;
  if (timeout_ns < longest_ns) {
    caller.deadline_ns = now_ns() + static_cast<std::int64_t>(timeout_ns);
    caller.real_deadline_ns = cpu_sim::now_ns() + std::min(static_cast<std::int64_t>(timeout_ns), longest_real_wait_ns);
  }
  caller.records = records;
  caller.time_ns = now_ns();
  take_turn(lock, caller, Caller::State::waits);
  caller.records = {};
  caller.deadline_ns = caller.real_deadline_ns = INT64_MAX;
  return are_complete(records);
}

bool Director::leave_turn(const char* why) {
  const Lock lock = enter();
  if (holder_ == nullptr || holder_ != this_caller_) return false;
  report_uncontrolled(why);
  give_turn(holder_);
  return true;
}

void Director::take_turn_again() {
  Lock lock = enter();
  take_turn(lock, self(), Caller::State::enters);
}

void Director::take_turn(Lock& lock, Caller& self, Caller::State state) {
  self.state = state;
  if (holder_ == &self) holder_ = nullptr;
  while (holder_ != &self) {
    if (holder_ == nullptr && !directing_) {
      direct(lock);
    } else {
      self.turn.wait(lock);
    }
  }
  self.state = Caller::State::outside;
  last_holder_ = &self;
}

/// Returns whether a thread waits for its turn.
bool Director::is_somebody_here() const noexcept {
  return std::any_of(callers_.begin(), callers_.end(),
                     [](const Caller* caller) { return caller->state != Caller::State::outside; });
}

/// Gives the turn to nobody, if `self` has it or nobody. One of the threads that wait for it directs next.
void Director::give_turn(Caller* self) noexcept {
  if (holder_ == self) holder_ = nullptr;
  for (Caller* const caller : callers_) {
    if (caller->state == Caller::State::outside) continue;
    caller->turn.notify_one();
    return;
  }
}

/// Chooses until a caller is chosen, which then has the turn.
void Director::direct(Lock& lock) {
  directing_ = true;
  while (holder_ == nullptr) {
    settle(lock);
    note_submissions();
    if (execute_silent(lock)) continue;
    const std::vector<Candidate> found = candidates();
    if (found.empty()) {
      wait_for_others(lock);
      continue;
    }
    is_stuck_ = false;
    bool has_moved = false;
    board_.say_moving(has_moved);
    if (has_moved && !refused_.empty()) {
      refused_.clear();
      continue;
    }
    const std::size_t taken = found.size() == 1 ? 0 : choose(found);
    if (found[taken].task != nullptr) {
      execute(lock, found[taken]);
    } else {
      holder_ = found[taken].caller;
      refused_.clear();
      if (time_ != nullptr) set_clock(found[taken].time_ns);
      holder_->turn.notify_one();
    }
  }
  directing_ = false;
}

// ---- Choosing ------------------------------------------------------------------------------------------------------

bool Director::may_go_on(const Caller& caller) const noexcept {
  if (caller.state != Caller::State::waits) return caller.state != Caller::State::outside;
  return are_complete(caller.records) || caller.deadline_ns <= now_ns();
}

/// Returns what could happen next: threads by their numbers, then streams by theirs.
std::vector<Director::Candidate> Director::candidates() {
  std::vector<Caller*> fresh;
  for (Caller* const caller : callers_) {
    if (caller->number == unnumbered && caller->state != Caller::State::outside) fresh.push_back(caller);
  }
  // The system numbers threads in the order of their making, which is the program's doing; their coming here is not.
  // The numbers begin again at the greatest one, and the process's first thread has the process's own.
  const auto age_of = [](const Caller* caller) { return static_cast<std::uint32_t>(caller->thread - getpid()); };
  std::sort(fresh.begin(), fresh.end(), [&](const Caller* a, const Caller* b) { return age_of(a) < age_of(b); });
  for (Caller* const caller : fresh) caller->number = numbers_++;

  std::vector<Candidate> found;
  bool all_enter = is_somebody_here();
  for (Caller* const caller : callers_) {
    all_enter = all_enter && caller->state <= Caller::State::enters;
    if (!may_go_on(*caller)) continue;
    Candidate candidate;
    candidate.caller = caller;
    // A wait is over when what it is for has happened, which was just now.
    if (caller->state == Caller::State::waits) caller->time_ns = std::max(caller->time_ns, now_ns());
    candidate.time_ns = caller->time_ns;
    candidate.option.actor = actor_of_thread(caller->number);
    candidate.option.is_thread = true;
    candidate.option.done = caller->calls;
    candidate.option.submitted = caller->submissions;
    found.push_back(std::move(candidate));
  }
  std::sort(found.begin(), found.end(),
            [](const Candidate& a, const Candidate& b) { return a.caller->number < b.caller->number; });
  // Nothing of a stream happens between two calls; while all calls only begin, there has been a choice already. With a
  // profile time has passed since.
  if (all_enter && time_ == nullptr) return found;
  add_operations(found);
  add_messages(found);
  if (strategy_->asks_for_needed()) mark_needed(found);
  const auto asks_in_vain = [](const Candidate& each) {
    return each.caller != nullptr && each.caller->in_vain >= most_in_vain;
  };
  if (!std::all_of(found.begin(), found.end(), asks_in_vain)) std::erase_if(found, asks_in_vain);
  return found;
}

/// What the strategy is told of an operation of a stream.
Option Director::option_of(const Operation& operation) const {
  Option option;
  option.actor = actor_of_stream(operation.stream);
  option.done = operation.done;
  option.left = std::max<std::uint64_t>(operation.left, 1);
  option.touched = allocations_of(operation);
  option.branch = operation.branch;
  return option;
}

/// Adds the operations that are ready, in the order of their streams.
void Director::add_operations(std::vector<Candidate>& found) {
  const auto threads = static_cast<std::ptrdiff_t>(found.size());
  unsigned most_urgent = levels;
  for (const Task* const task : ready_) most_urgent = std::min(most_urgent, task->level());
  for (Task* const task : ready_) {
    if (task->level() != most_urgent && time_ == nullptr)
      continue;  // A profile says what is held up by more urgent ones.
    Candidate candidate;
    candidate.task = task;
    candidate.operation.wants_nodes = time_ != nullptr && !time_->has(*task);
    task->describe(candidate.operation);
    const Operation& operation = candidate.operation;
    if (candidate.operation.wants_nodes) time_->add(*task, operation, task->level(), now_ns());
    candidate.option = option_of(operation);
    found.push_back(std::move(candidate));
  }
  std::stable_sort(found.begin() + threads, found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.operation.stream < b.operation.stream; });
  if (time_ == nullptr) return;
  for (auto each = found.begin() + threads; each != found.end(); ++each) each->time_ns = time_->end_ns(*each->task);
}

/// With a profile, takes note of when commands were submitted: since it was called last, there was one call at most.
void Director::note_submissions() {
  if (time_ == nullptr) return;
  for (Task* const stream : streams_) {
    Operation operation;
    stream->describe(operation);
    time_->note_submissions(operation, now_ns());
  }
}

/// Marks the streams that waiting threads need: those that they wait for, and those that these wait for.
void Director::mark_needed(std::vector<Candidate>& candidates) {
  std::map<const Timeline*, Record> waits;
  std::vector<Record> needed;
  for (const Caller* const caller : callers_)
    needed.insert(needed.end(), caller->records.begin(), caller->records.end());
  if (needed.empty()) return;
  for (Task* const stream : streams_) {
    Operation operation;
    stream->describe(operation);
    waits.emplace(operation.timeline, operation.waits_for);
  }
  std::set<const Timeline*> seen;
  while (!needed.empty()) {
    const Record record = needed.back();
    needed.pop_back();
    const auto found = waits.find(record.timeline);
    if (record.complete() || found == waits.end() || !seen.insert(record.timeline).second) continue;
    for (Candidate& candidate : candidates) {
      if (candidate.operation.timeline == record.timeline) candidate.option.is_needed = true;
    }
    needed.push_back(found->second);
  }
}

/// Returns the index of the candidate that has been ready longest; the number of candidates if none is an operation.
std::size_t Director::index_of_first_ready(const std::vector<Candidate>& candidates) const {
  for (const Task* const task : ready_) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (candidates[i].task == task) return i;
    }
  }
  return candidates.size();
}

/// Returns the index of the candidate that happens first; of several an operation, then the thread that ran.
std::size_t Director::index_of_earliest(const std::vector<Candidate>& candidates) const {
  const auto rank_of = [this](const Candidate& each) {
    const int kind = each.task != nullptr ? 0 : each.caller == last_holder_ ? 1 : 2;
    return std::pair(each.time_ns, kind);
  };
  const auto first = std::min_element(candidates.begin(), candidates.end(),
                                      [&](const auto& a, const auto& b) { return rank_of(a) < rank_of(b); });
  return static_cast<std::size_t>(first - candidates.begin());
}

/// Returns the index of the candidate that the plain schedule takes: it executes everything as soon as it is ready, and
/// then lets the thread go on that ran.
std::size_t Director::plain_of(const std::vector<Candidate>& candidates) const {
  if (time_ != nullptr) return index_of_earliest(candidates);
  const auto index_where = [&](auto matches) {
    return static_cast<std::size_t>(std::find_if(candidates.begin(), candidates.end(), matches) - candidates.begin());
  };
  std::size_t plain = index_of_first_ready(candidates);
  if (plain == candidates.size()) {
    plain = index_where([&](const Candidate& each) { return each.caller != nullptr && each.caller == last_holder_; });
  }
  return plain == candidates.size() ? 0 : plain;
}

std::size_t Director::choose(const std::vector<Candidate>& candidates) {
  std::vector<Option> options;
  for (const Candidate& candidate : candidates) options.push_back(candidate.option);
  const std::size_t plain = plain_of(candidates);
  std::vector<std::string> what;
  for (const Candidate& candidate : candidates) what.push_back(what_of(candidate));
  const std::size_t taken = or_passed_over(candidates, plain, ask(options, plain, what));
  report_choice(candidates, taken, plain);
  ++choices_;
  return taken;
}

/// Returns the candidate that was passed over for too long, or `taken` if there is none. With a profile it is the
/// earliest only: the others' time hasn't come.
std::size_t Director::or_passed_over(const std::vector<Candidate>& candidates, std::size_t plain, std::size_t taken) {
  const auto counter_of = [](const Candidate& each) -> unsigned& {
    return each.task != nullptr ? each.task->passed_over : each.caller->passed_over;
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (time_ != nullptr && i != plain) continue;
    if (++counter_of(candidates[i]) > most_passed_over) taken = i;
  }
  counter_of(candidates[taken]) = 0;
  return taken;
}

std::size_t Director::ask(const std::vector<Option>& options, std::size_t plain, const std::vector<std::string>& what) {
  const std::size_t taken = strategy_->choose(options, plain);
  if (taken >= options.size()) end_diverged(what, taken);
  return taken;
}

std::size_t Director::choose_in_call(const char* kind, const std::vector<std::string>& what) {
  const Lock lock = enter();
  if (holder_ == nullptr || holder_ != this_caller_) return 0;
  if (holder_->number == unnumbered) holder_->number = numbers_++;  // There was nobody to choose from when it came.
  std::vector<Option> options;
  for (std::size_t way = 0; way < what.size(); ++way) {
    Option option;
    option.actor = actor_of_way(holder_->number, way);
    option.done = holder_->calls;
    option.left = 1;
    options.push_back(option);
  }
  const std::size_t taken = ask(options, 0, what);
  report_in_call(kind, taken, what);
  ++choices_;
  return taken;
}

}  // namespace anyplace::cpu_sim
