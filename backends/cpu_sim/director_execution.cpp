// SPDX-License-Identifier: Apache-2.0
//
// This file has the director's threads and the execution of operations on them.
#include <exception>
#include <utility>

#include "director.h"
#include "thread.h"

namespace anyplace::cpu_sim {

void Director::start() {
  if (started_.load(std::memory_order_acquire)) return;
  const Lock lock = enter();
  if (executors_.empty()) static_cast<void>(idle_executor());
  if (!supervisor_.joinable()) supervisor_ = start_thread("cpu_sim director", [this] { supervise(); });
  started_.store(true, std::memory_order_release);
}

void Director::ready(Task& task) noexcept {
  const Lock lock = enter();
  if (supervisor_sleeps_) supervise_.notify_one();
  const std::thread::id here = std::this_thread::get_id();
  fresh_is_mixed_ = fresh_is_mixed_ || (!fresh_.empty() && here != made_ready_by_);
  made_ready_by_ = here;
  fresh_.push_back(&task);
  may_be_silent_ = true;
}

/// Returns an executor without a task. Throws Failure if there is none and none can be started.
Director::Executor& Director::idle_executor() {
  for (const auto& executor : executors_) {
    if (executor->task == nullptr) return *executor;
  }
  auto executor = std::make_unique<Executor>();
  executors_.reserve(executors_.size() + 1);
  executor->thread = start_thread("cpu_sim worker", [this, &own = *executor] { run_executor(own); });
  executors_.push_back(std::move(executor));
  return *executors_.back();
}

void Director::run_executor(Executor& executor) noexcept {
  Lock lock = enter();
  executor.id = this_thread();
  while (!stopped_.load(std::memory_order_relaxed) || executor.task != nullptr) {
    if (executor.task == nullptr) {
      executor.wake.wait(lock);
      continue;
    }
    executor.has_begun = true;
    lock.unlock();
    executor.task->step();
    enter_again(lock);
    executor.task = nullptr;
    executor.has_begun = executor.is_blocked = false;
    rest_.notify_all();
  }
}

/// Executes the candidate's operation, and returns when it is over or blocked.
void Director::execute(Lock& lock, const Candidate& candidate) {
  if (candidate.operation.message != nullptr) return receive(lock, candidate);
  refused_.clear();
  const std::int64_t begin_ns = time_ == nullptr ? now_ns() : time_->take(*candidate.task);
  const std::int64_t real_begin_ns = cpu_sim::now_ns();
  set_clock(time_ == nullptr ? begin_ns + costs_.operation_ns(candidate.operation) : candidate.time_ns);
  const std::int64_t end_ns = now_ns();
  std::erase(ready_, candidate.task);
  if (candidate.operation.is_silent) return execute_here(lock, *candidate.task);
  for (Caller* const caller : callers_) caller->in_vain = 0;
  Executor* executor = nullptr;
  const Operation::Kind kind = candidate.operation.kind;
  // A copy or fill needs no lock of the program's, and a host function is called by a thread of its own, which is only
  // told of it here. So this thread executes them, which takes less time.
  const bool is_host_function = kind == Operation::Kind::host_function;
  if (kind != Operation::Kind::copy && kind != Operation::Kind::fill && !is_host_function) {
    try {
      executor = &idle_executor();
    } catch (const std::exception&) {
      // All that could be started are blocked, so this thread executes the operation. It is in a call that may take
      // long.
    }
  }
  if (executor == nullptr) {
    execute_here(lock, *candidate.task);
    if (is_host_function) settle(lock);
  } else {
    executor->task = candidate.task;
    executor->wake.notify_one();
    settle(lock);
  }
  worked_ns_.fetch_add(cpu_sim::now_ns() - real_begin_ns, std::memory_order_relaxed);
  report_ran(candidate.operation, begin_ns, end_ns, executor != nullptr && executor->task == candidate.task);
}

/// Executes the task's next command on this thread.
void Director::execute_here(Lock& lock, Task& task) {
  lock.unlock();
  {
    const HelpingScope helping;
    task.step();
  }
  enter_again(lock);
}

/// Executes a ready command that is no choice, if there is one. With a profile, a time stamp that isn't due is one.
bool Director::execute_silent(Lock& lock) {
  for (Task* const task : ready_) {
    Operation operation;
    task->describe(operation);
    if (!operation.is_silent) continue;
    if (time_ != nullptr && operation.kind == Operation::Kind::time_stamp) {
      if (time_->ready_ns(operation) > now_ns()) continue;
      if (time_->has(*task)) time_->take(*task);
    }
    std::erase(ready_, task);
    execute_here(lock, *task);
    return true;
  }
  may_be_silent_ = false;
  return false;
}

bool Director::stop(const Deadline& deadline) {
  Lock lock = enter();
  if (stopped_.exchange(true)) return true;
  const bool over = deadline.wait(rest_, lock, [this] { return own_work_is_over(); });
  report_end();
  board_.leave();
  std::vector<std::thread> threads;
  for (const auto& executor : executors_) {
    executor->wake.notify_one();
    threads.push_back(std::move(executor->thread));
  }
  if (supervisor_.joinable()) threads.push_back(std::move(supervisor_));
  supervise_.notify_one();
  lock.unlock();
  for (std::thread& thread : threads) over ? thread.join() : thread.detach();
  return over;
}

void Director::add_host_thread(const void* key) noexcept {
  const Lock lock = enter();
  host_threads_[key].id = this_thread();
}

void Director::host_work_posted(const void* key) noexcept {
  const Lock lock = enter();
  ++host_threads_[key].busy;
}

void Director::host_work_begun(const void* key) noexcept {
  const Lock lock = enter();
  host_threads_[key].has_begun = true;
}

void Director::host_work_done(const void* key) noexcept {
  const Lock lock = enter();
  HostThreadNote& note = host_threads_[key];
  --note.busy;
  note.has_begun = note.is_blocked = false;
  rest_.notify_all();
}

}  // namespace anyplace::cpu_sim
