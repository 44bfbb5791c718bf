// SPDX-License-Identifier: Apache-2.0
//
// This file has how messages of other ranks arrive. A stream that takes part in an operation of a communicator waits at
// a gate, which is opened when the other ranks have done their part: in real time, since nobody directs all processes.
// So that the schedule of a rank doesn't depend on how fast the others are, a message is an option from the moment on
// at which the stream waits for it, and when it is chosen, everything waits until it is there. What came before it is
// chosen is kept here. So each rank is a deterministic process that reads from channels, and the schedules of all ranks
// are what their seeds make of them, however the system runs them (a Kahn network; Kahn, "The Semantics of a Simple
// Language for Parallel Programming", IFIP 1974).
//
// A message that was chosen may not come before this rank has done something else. Then that has to be chosen instead.
#include <algorithm>
#include <chrono>

#include "director.h"
#include "wait.h"

namespace anyplace::cpu_sim {
namespace {

// A message that was chosen is waited for so long where something else could happen: where the ranks find out by
// themselves that all are stuck, it is other ranks that take so long.
constexpr std::int64_t message_patience_ns = 2'000'000'000;
constexpr std::int64_t job_patience_ns = 10'000'000'000;
// Most messages come within this time, and the other ranks needn't be told.
constexpr std::int64_t brief_ns = 5'000'000;
// The thread that receives has received what was there when it has computed so long, in so much real time; or when so
// much has passed, since it sleeps between its looks if no operation has begun.
constexpr std::int64_t looking_ns = 1'000'000;
constexpr std::int64_t receiving_ns = 20'000'000;
constexpr std::int64_t longest_receiving_ns = 100'000'000;

}  // namespace

void Director::message_came(Gate& gate) noexcept {
  const Lock lock = enter();
  if (messages_.insert(&gate).second) gate.retain();
  rest_.notify_all();
}

/// Returns whether a stream waits for a message.
bool Director::has_messages() {
  return std::any_of(streams_.begin(), streams_.end(), [](Task* stream) {
    Operation operation;
    stream->describe(operation);
    return operation.message != nullptr;
  });
}

/// Adds the messages that streams wait for, whether they came or not, in the order of the streams. With a profile
/// nothing is known of when they come, so they come when nothing else can happen.
void Director::add_messages(std::vector<Candidate>& found) {
  if (!is_rank()) return;
  const auto asks_in_vain = [](const Candidate& each) { return each.caller != nullptr && each.caller->in_vain != 0; };
  if (time_ != nullptr && !std::all_of(found.begin(), found.end(), asks_in_vain)) return;
  for (Task* const stream : streams_) {
    Candidate candidate;
    Operation& operation = candidate.operation;
    stream->describe(operation);
    if (operation.message == nullptr || refused_.contains(operation.stream)) continue;
    candidate.task = stream;
    operation.is_silent = false;
    operation.touches_all = true;
    operation.what = "message arrives";
    candidate.time_ns = now_ns();
    candidate.option = option_of(operation);
    found.push_back(std::move(candidate));
  }
  const auto streams =
      std::find_if(found.begin(), found.end(), [](const Candidate& each) { return each.caller == nullptr; });
  std::stable_sort(streams, found.end(),
                   [](const Candidate& a, const Candidate& b) { return a.operation.stream < b.operation.stream; });
}

/// Waits until the message is there, and lets its stream go on; or returns when another choice has to be made.
void Director::receive(Lock& lock, const Candidate& candidate) {
  Gate& gate = *candidate.operation.message;
  const std::int64_t began_ns = cpu_sim::now_ns();
  while (true) {
    const bool is_there = messages_.contains(&gate);
    const std::int64_t waited_ns = cpu_sim::now_ns() - began_ns;
    bool has_moved = false;
    auto verdict = RankBoard::Verdict::none;
    if (is_there) {
      verdict = board_.say_moving(has_moved);
    } else if (waited_ns > brief_ns) {
      verdict = ask_board(has_other(candidate), has_moved);
    }
    if (verdict == RankBoard::Verdict::deadlock && !is_there) end_in_deadlock();
    if (has_moved) refused_.clear();
    if (verdict == RankBoard::Verdict::choose_again && choose_again(candidate)) return;
    if (is_there) break;
    const bool is_late = waited_ns > (has_board_ ? job_patience_ns : message_patience_ns);
    if (is_late) refused_.clear();
    if (is_late && choose_again(candidate)) {
      board_.say_moving(has_moved);
      return report_uncontrolled("a message didn't come within seconds when it was chosen, and others go on meanwhile");
    }
    rest_.wait_for(lock, std::chrono::milliseconds(1));
  }
  messages_.erase(&gate);
  refused_.clear();
  for (Caller* const caller : callers_) caller->in_vain = 0;
  set_clock(now_ns() + costs_.call_ns());
  report_ran(candidate.operation, now_ns(), now_ns(), false);
  lock.unlock();
  gate.open();
  gate.release();
  enter_again(lock);
}

/// Returns the virtual time at which the first wait that is limited ends; INT64_MAX if none is.
std::int64_t Director::first_deadline() const noexcept {
  std::int64_t first = INT64_MAX;
  for (const Caller* const caller : callers_) {
    if (caller->state == Caller::State::waits) first = std::min(first, caller->deadline_ns);
  }
  return first;
}

/// Returns whether something else can happen than the message that was chosen.
bool Director::has_other(const Candidate& candidate) {
  const std::vector<Candidate> found = candidates();
  return first_deadline() != INT64_MAX ||
         std::any_of(found.begin(), found.end(), [&](const Candidate& each) { return each.task != candidate.task; });
}

/// Makes something else be chosen than the message: if there is nothing, the first wait that is limited ends. Returns
/// false if there is no such wait either.
bool Director::choose_again(const Candidate& candidate) {
  const std::vector<Candidate> found = candidates();
  if (std::any_of(found.begin(), found.end(), [&](const Candidate& each) { return each.task != candidate.task; })) {
    refused_.insert(candidate.operation.stream);
    return true;
  }
  if (first_deadline() == INT64_MAX) return false;
  set_clock(first_deadline());
  return true;
}

// ---- All ranks -----------------------------------------------------------------------------------------------------

void Director::join_board() {
  std::string text;
  has_board_ = board_.join(job_, text);
  if (!text.empty()) report_uncontrolled(text);
}

/// Says to the other ranks that this one is stuck, if it is, and returns what follows.
RankBoard::Verdict Director::ask_board(bool has_other, bool& has_moved) {
  if (!has_board_) return RankBoard::Verdict::none;
  if (!only_others_may_act()) return board_.say_moving(has_moved);
  return board_.say_stuck({has_other, calls_ + ran_, received_}, has_moved);
}

/// Returns how long the thread that receives has computed; -1 if it waits, or there is none.
std::int64_t Director::receiver_ns() {
  for (auto& [id, thread] : threads_.list(false)) {
    if (thread.name() == receiver_name) return thread.look() == OpenThread::Doing::runs ? thread.computed_ns() : -1;
  }
  return -1;
}

/// Returns whether the thread that receives waits, or has made a round since receiver_began_ns_ was written. It takes
/// locks of the core's in each, for which a thread of the program's may wait while the receiving one gets no processor:
/// that thread is about to go on, and isn't one that waits for work.
bool Director::has_receiver_gone_on() {
  if (!is_rank()) return true;
  const std::int64_t computed_ns = receiver_ns();
  if (computed_ns < 0) return true;
  if (receiver_began_ns_ < 0) receiver_began_ns_ = computed_ns;
  return computed_ns - receiver_began_ns_ > looking_ns;
}

/// Returns whether nothing of this process can go on unless another rank sends something: each thread of the program's
/// that has called us waits here or for another thread. Others that sleep are taken for MPI's. Counts how often the
/// thread that receives has looked for messages.
bool Director::only_others_may_act() {
  const std::int64_t real_now_ns = cpu_sim::now_ns();
  std::int64_t receiver_ns = -1;
  for (auto& [id, thread] : threads_.list(false)) {
    if (thread.name() == receiver_name) receiver_ns = thread.computed_ns();
    const bool has_called =
        std::any_of(callers_.begin(), callers_.end(), [id = id](const Caller* each) { return each->thread == id; });
    if (waits_here(id) || (!has_called && !has_own_work(id))) continue;
    const OpenThread::Doing doing = thread.look();
    if (doing != OpenThread::Doing::waits && doing != OpenThread::Doing::ended) return false;
  }
  if (real_now_ns - received_at_ns_ < receiving_ns) return true;
  const bool has_looked = receiver_ns - receiver_before_ns_ > looking_ns;
  if (!has_looked && real_now_ns - received_at_ns_ < longest_receiving_ns) return true;
  received_at_ns_ = real_now_ns;
  receiver_before_ns_ = receiver_ns;
  ++received_;
  return true;
}

}  // namespace anyplace::cpu_sim
