// SPDX-License-Identifier: Apache-2.0
//
// This file has how the director lets the process come to rest before a choice, and what it does when there is nothing
// to choose from.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "director.h"

namespace anyplace::cpu_sim {
namespace {

// An operation is usually over within this time; only then is the kernel asked what its thread does.
constexpr std::chrono::microseconds soon(200);
// An operation, or a thread between two calls, that computes for longer than this, in its own processor time, isn't
// waited for any more: it may spin until another thread has done something.
constexpr std::int64_t operation_patience_ns = 300'000'000;
constexpr std::int64_t thread_patience_ns = 50'000'000;
// On a machine that is very busy a thread that spins gets little of its time, so there is a limit in real time, too.
constexpr std::int64_t real_patience_ns = 2'000'000'000;
// One that has done so before is waited for so long in real time.
constexpr std::int64_t short_patience_ns = 2'000'000;
// Where the kernel doesn't tell what threads do, an operation that isn't over after this time counts as blocked.
constexpr std::int64_t blind_ns = 100'000'000;
// The core's threads, which poll, could still end what looks like a deadlock for so long.
constexpr std::int64_t background_ns = 500'000'000;
// A thread that was woken on an idle core still looks as if it waited until that core is awake, so a deadlock is one
// that stays for this long.
constexpr std::int64_t deadlock_ns = 200'000'000;

}  // namespace

bool Director::own_work_is_over() const noexcept {
  return std::none_of(executors_.begin(), executors_.end(), [](const auto& each) { return each->task != nullptr; }) &&
         std::none_of(host_threads_.begin(), host_threads_.end(),
                      [](const auto& each) { return each.second.busy != 0; });
}

/// Returns whether there is work that isn't over, and wasn't blocked when the process last came to rest.
bool Director::own_work_goes_on() const noexcept {
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& each) { return each->task != nullptr && !each->is_blocked; }) ||
         std::any_of(host_threads_.begin(), host_threads_.end(),
                     [](const auto& each) { return each.second.busy != 0 && !each.second.is_blocked; });
}

/// Returns whether there is work whose thread has been told of it and hasn't seen it yet: it looks as if it waited.
bool Director::own_work_is_to_begin() const noexcept {
  return std::any_of(executors_.begin(), executors_.end(),
                     [](const auto& each) { return each->task != nullptr && !each->has_begun; }) ||
         std::any_of(host_threads_.begin(), host_threads_.end(),
                     [](const auto& each) { return each.second.busy != 0 && !each.second.has_begun; });
}

/// Returns whether the thread is a caller that waits for its turn.
bool Director::waits_here(pid_t thread) const noexcept {
  return std::any_of(callers_.begin(), callers_.end(), [thread](const Caller* caller) {
    return caller->thread == thread && caller->state != Caller::State::outside;
  });
}

bool Director::is_own(pid_t thread) const noexcept {
  return thread == supervisor_id_ ||
         std::any_of(executors_.begin(), executors_.end(), [thread](const auto& each) { return each->id == thread; }) ||
         std::any_of(host_threads_.begin(), host_threads_.end(),
                     [thread](const auto& each) { return each.second.id == thread; });
}

/// Returns whether the thread is one that executes an operation or calls a host function now.
bool Director::has_own_work(pid_t thread) const noexcept {
  return std::any_of(executors_.begin(), executors_.end(),
                     [thread](const auto& each) { return each->id == thread && each->task != nullptr; }) ||
         std::any_of(host_threads_.begin(), host_threads_.end(),
                     [thread](const auto& each) { return each.second.id == thread && each.second.busy != 0; });
}

/// Returns whether the program has no other thread than the calling one, and no operation is being executed: so the
/// process is at rest.
bool Director::is_alone() {
  if (threads_.have_changed() || !own_work_is_over()) return false;
  if (alone_at_ == threads_.listings()) return true;
  const pid_t self = this_thread();
  for (auto& [id, thread] : threads_.list(false)) {
    if (id != self && !is_own(id) && !acts_in_real_time(thread.name())) return false;
  }
  alone_at_ = threads_.listings();
  return true;
}

/// Returns when each operation is over or blocked, and each thread waits for its turn or for something else.
void Director::settle(Lock& lock) {
  const std::int64_t began_ns = cpu_sim::now_ns();
  for (auto& [id, thread] : threads_.list(false)) thread.is_waited_for = false;
  for (unsigned round = 0;; ++round) {
    if (own_work_goes_on()) rest_.wait_for(lock, soon, [this] { return !own_work_goes_on(); });
    if (threads_.is_known() ? look_at_threads(thread_patience_ns) : own_work_is_over()) break;
    if (!threads_.is_known() && cpu_sim::now_ns() - began_ns > blind_ns) {
      return report_uncontrolled(
          "the system doesn't tell what threads do (/proc/self/task), and an operation takes long");
    }
    lock.unlock();
    if (round < 20) {
      sched_yield();
    } else {
      usleep(round < 200 ? 50 : 500);
    }
    enter_again(lock);
  }
  admit_fresh();
  for (const auto& executor : executors_) executor->is_blocked = executor->task != nullptr;
  for (auto& [key, note] : host_threads_) note.is_blocked = note.busy != 0;
}

/// Adds what became ready since the process was at rest last. Operations that ended at the same time, or one for the
/// sake of another one, made it ready in an order that isn't the program's: it is that of the streams then.
void Director::admit_fresh() {
  if (std::exchange(fresh_is_mixed_, false)) {
    const auto place_of = [](Task* task) {
      Operation operation;
      task->describe(operation);
      return std::pair(operation.stream, operation.branch);
    };
    std::stable_sort(fresh_.begin(), fresh_.end(), [&](Task* a, Task* b) { return place_of(a) < place_of(b); });
  }
  ready_.insert(ready_.end(), fresh_.begin(), fresh_.end());
  fresh_.clear();
}

/// Returns whether a thread that runs, or that sleeps in an operation, is waited for on.
bool Director::is_patient_with(OpenThread& thread, bool is_operation, std::int64_t patience_ns) {
  const std::int64_t real_now_ns = cpu_sim::now_ns();
  if (!std::exchange(thread.is_waited_for, true)) {
    thread.real.begin(real_now_ns);
    thread.computing.begin(thread.before_ns);
  }
  const std::int64_t real_ns = thread.real.until(real_now_ns);
  const std::int64_t computing_ns = thread.computing.until(thread.before_ns);
  if (thread.has_spun) return real_ns < short_patience_ns;
  if (is_operation && thread.doing == OpenThread::Doing::sleeps) return real_ns < operation_patience_ns;
  if (is_operation) return computing_ns < operation_patience_ns;
  return computing_ns < patience_ns && real_ns < real_patience_ns;
}

/// Says that a thread isn't waited for any more.
void Director::report_impatience(const OpenThread& thread, bool is_operation) {
  report_uncontrolled(!is_operation ? "a thread computes for long between two calls, and others go on meanwhile"
                      : thread.doing == OpenThread::Doing::sleeps
                          ? "an operation sleeps by the clock for long, and others are executed meanwhile"
                          : "an operation computes for long, and others are executed meanwhile");
}

/// Looks twice at each thread that could be running. Returns whether all wait: whether none ran and none could run from
/// the first look at the last thread on to the second look at the first one. So no thread can have woken another one.
bool Director::look_at_threads(std::int64_t patience_ns) {
  const auto is_changing = [this] { return entering_.load(std::memory_order_relaxed) != 0 || own_work_is_to_begin(); };
  if (is_changing()) return false;
  // A thread that ended before the first look at it is forgotten as one that ended after it, or reports would differ.
  auto& threads = threads_.list(false);
  if (threads_.is_known()) forget_ended();
  std::vector<OpenThread*> watched;
  const pid_t self = this_thread();
  bool any_ended = false;
  for (auto& [id, thread] : threads) {
    if (id == self || thread.polls || waits_here(id) || (is_own(id) && !has_own_work(id))) {
      thread.doing = OpenThread::Doing::waits;
      thread.spins = thread.is_waited_for = false;
      continue;
    }
    thread.before_ns = thread.computed_ns();
    any_ended = thread.look() == OpenThread::Doing::ended || any_ended;
    const bool is_operation = is_own(id);
    // An operation that sleeps by the clock ends by itself, as one that computes does.
    if (thread.doing != OpenThread::Doing::runs && !(is_operation && thread.doing == OpenThread::Doing::sleeps)) {
      thread.spins = thread.is_waited_for = false;
      // It has its name by now, which it gave itself.
      if (!std::exchange(thread.is_named, true)) thread.polls = is_polling(thread.name());
      if (!thread.polls) watched.push_back(&thread);
      continue;
    }
    if (thread.spins || acts_in_real_time(thread.name())) continue;
    if (is_patient_with(thread, is_operation, patience_ns)) return false;
    thread.spins = thread.has_spun = true;
    report_impatience(thread, is_operation);
  }
  if (any_ended) {
    threads_.list(true);
    forget_ended();
  }
  if (any_ended || is_changing()) return false;
  const bool all_wait = std::all_of(watched.begin(), watched.end(), [&](OpenThread* thread) {
    const bool waits = watched.size() == 1 || thread->look() != OpenThread::Doing::runs;
    return waits && thread->computed_ns() == thread->before_ns;
  });
  // A thread may have been started, by one that waits now, before that one was looked at first.
  return all_wait && !threads_.have_changed();
}

/// Is called when no thread can go on and no operation is ready.
void Director::wait_for_others(Lock& lock) {
  const std::int64_t real_now = cpu_sim::now_ns();
  if (!std::exchange(is_stuck_, true)) stuck_.begin(real_now);
  const std::int64_t stuck_ns = stuck_.until(real_now);
  std::int64_t first_deadline = INT64_MAX;
  bool is_over = false;
  for (const Caller* const caller : callers_) {
    if (caller->state != Caller::State::waits) continue;
    first_deadline = std::min(first_deadline, caller->deadline_ns);
    is_over = is_over || (caller->real_deadline_ns <= real_now && caller->deadline_ns <= first_deadline);
  }
  bool has_moved = false;
  const RankBoard::Verdict verdict = ask_board(first_deadline != INT64_MAX, has_moved);
  if (verdict == RankBoard::Verdict::deadlock) end_in_deadlock();
  is_over = is_over || (verdict == RankBoard::Verdict::choose_again && first_deadline != INT64_MAX);
  if (has_moved) refused_.clear();
  bool others_may_act = false;
  bool background_may_act = false;
  for (auto& [id, thread] : threads_.list(false)) {
    if (thread.polls) thread.look();
    if (thread.doing != OpenThread::Doing::sleeps && !thread.spins) continue;
    (acts_in_real_time(thread.name()) ? background_may_act : others_may_act) = true;
  }
  for (Task* const stream : streams_) {
    Operation operation;
    stream->describe(operation);
    others_may_act = others_may_act || operation.waits_for_process;
  }
  others_may_act = others_may_act || (!threads_.is_known() && !own_work_is_over());
  background_may_act = background_may_act && stuck_ns < background_ns;
  if (others_may_act) report_uncontrolled("all that is left waits for a process or a thread that acts in real time");
  const bool may_be_brief = stuck_ns < deadlock_ns;
  if (!is_over && (others_may_act || background_may_act || may_be_brief || first_deadline != INT64_MAX)) {
    rest_.wait_for(lock, std::chrono::milliseconds(1));
  } else if (first_deadline != INT64_MAX) {
    set_clock(first_deadline);
  } else {
    end_in_deadlock();
  }
}

/// Chooses while operations are ready and all threads wait for something outside of the calls. Else a program that
/// waits by its own means for what a host function or a kernel does would wait for ever.
void Director::supervise() noexcept {
  constexpr std::chrono::milliseconds pause(1);
  // So many pauses after the last operation that was ready it sleeps: being woken for each takes longer than most of
  // them.
  constexpr unsigned pauses_before_sleep = 50;
  // A thread that computes between two calls isn't one that waits, unless it does so for very long.
  constexpr std::int64_t long_patience_ns = 500'000'000;
  // A rank's thread may be about to go on when the one that receives, for which nobody waits, has left a lock.
  const unsigned enough_looks = is_rank() ? 50 : 1;
  unsigned looks = 0;
  unsigned pauses = 0;
  std::uint64_t calls_before = 0;
  Lock lock = enter();
  supervisor_id_ = this_thread();
  while (!stopped_) {
    pauses = is_nothing_ready() && !is_rank() ? pauses + 1 : 0;
    supervisor_sleeps_ = pauses > pauses_before_sleep;
    if (supervisor_sleeps_) {
      supervise_.wait(lock);
      pauses = 0;
      continue;
    }
    supervise_.wait_for(lock, pause);
    const bool has_called = calls_ != std::exchange(calls_before, calls_);
    if (has_called) {
      for (auto& [id, thread] : threads_.list(false)) thread.is_waited_for = false;
    }
    const bool may_choose = !has_called && holder_ == nullptr && !directing_ && !is_somebody_here() &&
                            (!is_nothing_ready() || (is_rank() && has_messages())) && threads_.is_known();
    looks = may_choose && look_at_threads(long_patience_ns) ? looks + 1 : 0;
    if (looks == 1) receiver_began_ns_ = receiver_ns();
    if (looks < enough_looks || !has_receiver_gone_on()) continue;
    looks = 0;
    directing_ = true;
    admit_fresh();
    note_submissions();
    if (!execute_silent(lock)) {
      const std::vector<Candidate> found = candidates();
      if (!found.empty()) execute(lock, found[found.size() == 1 ? 0 : choose(found)]);
    }
    directing_ = false;
    give_turn(nullptr);
  }
}

/// Says, for each stream with work, what it waits for.
std::string Director::what_waits() {
  std::map<const Timeline*, std::uint64_t> numbers;
  std::vector<Operation> pending;
  for (Task* const stream : streams_) {
    Operation operation;
    stream->describe(operation);
    numbers.emplace(operation.timeline, operation.stream);
    if (operation.left != 0) pending.push_back(std::move(operation));
  }
  const auto name_of = [&numbers](const Timeline* timeline) {
    const auto found = numbers.find(timeline);
    return found == numbers.end() ? std::string("a gate or a graph's event")
                                  : "stream " + std::to_string(found->second);
  };
  std::string text;
  std::vector<const Caller*> waiting;
  for (const Caller* const caller : callers_) {
    if (caller->state != Caller::State::outside) waiting.push_back(caller);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Caller* a, const Caller* b) { return a->number < b->number; });
  for (const Caller* const caller : waiting) {
    text += "thread " + std::to_string(caller->number) + " waits in " + caller->call;
    for (const Record& record : caller->records) {
      if (!record.complete()) text += (text.ends_with(caller->call) ? " for " : ", ") + name_of(record.timeline);
    }
    text += "; ";
  }
  std::sort(pending.begin(), pending.end(), [](const Operation& a, const Operation& b) { return a.stream < b.stream; });
  for (const Operation& operation : pending) {
    text += "stream " + std::to_string(operation.stream) + " of device " + std::to_string(operation.device) +
            " is at \"" + operation.what + "\"";
    const Record& record = operation.waits_for;
    if (operation.what == "wait" && !record.complete()) text += " for " + name_of(record.timeline);
    if (operation.what == "graph" && !record.complete()) text += ", with a wait for " + name_of(record.timeline);
    text += " and has " + std::to_string(operation.left) + " left; ";
  }
  if (text.size() > 2) text.resize(text.size() - 2);
  return text;
}

void Director::end_in_deadlock() {
  const std::string text = what_waits();
  report_.line("{\"deadlock\":" + json_text(text) + "}");
  std::fprintf(stderr, "%sdeadlock: %s\n", name_.c_str(), text.c_str());
  // A launcher may kill the other ranks when one ends, so each lets all say what they wait for.
  board_.leave();
  if (has_board_) board_.wait_for_leaving();
  _exit(deadlock_status);
}

}  // namespace anyplace::cpu_sim
