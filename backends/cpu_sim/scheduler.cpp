// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "director.h"
#include "failure.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::int64_t spin_ns = 20'000;      // An idle worker first polls for this time without sleeping.
constexpr std::int64_t poll_ns = 1'500;       // This time passes between two of these polls.
constexpr std::int64_t reserve_ns = 200'000;  // This time passes between two polls of a reserve.
// After this time without a submission an idle worker sleeps until it is woken.
constexpr std::int64_t quiet_ns = 2'000'000;
constexpr std::int64_t long_slice_ns = 100'000;  // A reserve takes the next task at once only after a longer slice.
// A slice is short if it takes at most this and short_command_ns for each command.
constexpr std::int64_t short_slice_ns = 300;
constexpr std::int64_t short_command_ns = 200;
constexpr std::int64_t longest_pause_ns = 50'000;  // The pause after a short slice is never longer.
constexpr std::int64_t spin_pause_ns = 6'000;      // Pauses up to this long are spent without sleeping.

void spin_until(std::int64_t ns) noexcept {
  do {
    for (int i = 0; i < 8; ++i) pause_briefly();
  } while (now_ns() < ns);
}

/// Increments a counter that is written only under a lock.
void raise(std::atomic<std::uint32_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
void lower(std::atomic<std::uint32_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

}  // namespace

Scheduler::Scheduler(std::uint32_t workers, std::int64_t backoff_ns)
    : limit_(workers), backoff_ns_(backoff_ns), director_(Director::get()) {
  threads_.reserve(workers);
  workers_.reserve(workers);
}

// ---- Threads -------------------------------------------------------------------------------------------------------

void Scheduler::start_first() {
  std::lock_guard threads_lock(threads_mutex_);
  if (started_any_.load(std::memory_order_relaxed)) return;
  if (director_ != nullptr) {
    director_->start();
    return started_any_.store(true, std::memory_order_release);
  }
  {
    std::lock_guard lock(lock_);
    ++started_;
    ++polling_;
  }
  try {
    add_worker(false);
  } catch (...) {
    std::lock_guard lock(lock_);
    --started_;
    --polling_;
    throw;
  }
  started_any_.store(true, std::memory_order_release);
}

void Scheduler::start_worker(bool reserve) {
  std::lock_guard threads_lock(threads_mutex_);
  add_worker(reserve);
}

/// Adds a worker with its thread. Called under threads_mutex_. If this throws, there is neither.
void Scheduler::add_worker(bool reserve) {
  // Nothing may throw once the thread runs.
  threads_.reserve(threads_.size() + 1);
  workers_.reserve(workers_.size() + 1);
  auto worker = std::make_unique<Worker>(reserve);
  threads_.push_back(start_thread("cpu_sim worker", [this, &own = *worker] { work(own); }));
  workers_.push_back(std::move(worker));
}

bool Scheduler::stop(const Deadline& deadline) {
  if (director_ != nullptr) return director_->stop(deadline);
  {
    std::lock_guard lock(lock_);
    stopping_.store(true, std::memory_order_relaxed);  // From now on no worker is started.
  }
  {
    std::lock_guard threads_lock(threads_mutex_);
    for (const auto& worker : workers_) worker->parker.unpark();
  }
  bool all_ended = false;
  {
    // This doesn't hold threads_mutex_, because the start of a worker may be under way and takes it. Such a worker ends
    // at once.
    std::unique_lock lock(end_mutex_);
    all_ended = deadline.wait(end_, lock, [this] { return ended_ == started(); });
  }
  std::lock_guard threads_lock(threads_mutex_);
  for (std::thread& thread : threads_) {
    if (all_ended) {
      thread.join();
    } else {
      thread.detach();  // Nobody will join it.
    }
  }
  threads_.clear();
  return all_ended;
}

std::int64_t Scheduler::worked_ns() {
  std::lock_guard threads_lock(threads_mutex_);
  const std::int64_t now = now_ns();
  std::int64_t all = 0;
  for (const auto& worker : workers_) {
    const std::int64_t began = worker->slice_began.load(std::memory_order_relaxed);
    all += worker->worked_ns.load(std::memory_order_relaxed);
    if (began != 0 && now > began) all += now - began;
  }
  // A slice that ended between the two loads was counted twice; the next calls make up for it.
  reported_worked_ns_ = std::max(reported_worked_ns_, all);
  return reported_worked_ns_;
}

std::uint32_t Scheduler::started() noexcept {
  std::lock_guard lock(lock_);
  return started_;
}

// ---- Readying and claiming -----------------------------------------------------------------------------------------

/// Removes a worker from the sleepers and counts it as polling. Returns null if there is none. It is called under
/// lock_.
Scheduler::Worker* Scheduler::take_sleeper(bool reserve) noexcept {
  for (Worker** link = &sleepers_; *link != nullptr; link = &(*link)->next) {
    Worker* const worker = *link;
    if (worker->reserve != reserve) continue;
    *link = worker->next;
    worker->asleep = false;
    ++polling(reserve);
    return worker;
  }
  return nullptr;
}

/// Makes sure that a worker polls, if one more thread may run tasks. It is called under lock_ when something is ready;
/// the caller then calls carry_out().
Scheduler::Wakeup Scheduler::choose_worker(bool even_if_polling) noexcept {
  if (running_.load(std::memory_order_relaxed) >= limit_ || stopping_.load(std::memory_order_relaxed)) return {};
  if (polling_ > 0) return even_if_polling ? Wakeup{last_poller_} : Wakeup{};
  if (Worker* const worker = take_sleeper(false)) return {worker};
  const std::uint32_t eager = limit_ == 1 ? 1 : limit_ - 1;
  if (started_ < eager) {
    ++started_;
    ++polling_;
    return {nullptr, true};
  }
  if (reserves_polling_ > 0) return {};
  if (Worker* const worker = take_sleeper(true)) return {worker};
  if (started_ == limit_) return {};
  ++started_;
  ++reserves_polling_;
  return {nullptr, true, true};
}

void Scheduler::carry_out(const Wakeup& wakeup) noexcept {
  if (wakeup.wake != nullptr) wakeup.wake->parker.unpark();
  if (!wakeup.start) return;
  try {
    start_worker(wakeup.reserve);
  } catch (const std::exception&) {
    // start() has made at least one worker, so the work still runs. A sleeping worker, if there is one, takes over for
    // the worker that couldn't be started.
    Worker* worker = nullptr;
    {
      std::lock_guard lock(lock_);
      --started_;
      --polling(wakeup.reserve);
      if (ready_.size() > 0 && polling_ == 0) worker = take_sleeper(false);
      if (ready_.size() > 0 && polling_ == 0 && reserves_polling_ == 0) worker = take_sleeper(true);
    }
    if (worker != nullptr) worker->parker.unpark();
    std::lock_guard lock(end_mutex_);
    end_.notify_all();  // started_ has changed.
  }
}

void Scheduler::ready(Task& task, unsigned how) noexcept {
  if (director_ != nullptr) [[unlikely]]
    return director_->ready(task);
  Wakeup wakeup;
  {
    std::lock_guard lock(lock_);
    ready_.push(task, (how & woken) != 0);
    raise(pushes_);
    if ((how & by_host) != 0) raise(host_actions_);
    wakeup = choose_worker(false);
  }
  carry_out(wakeup);
}

bool Scheduler::claim(Task& task) noexcept {
  if (!task.queued() || starving_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(lock_);
  if (!task.queued() || starving_.load(std::memory_order_relaxed)) return false;
  const std::uint32_t running = running_.load(std::memory_order_relaxed);
  if (running >= limit_ || (running + 1 >= limit_ && more_urgent(task.level()))) return false;
  // With a limit of one thread, tasks run one at a time and in order, also when hosts run them.
  if (limit_ == 1 && !ready_.is_next(task)) return false;
  ready_.take(task);
  raise(running_);
  raise(host_actions_);
  return true;
}

void Scheduler::put_back(Task& task) noexcept {
  std::lock_guard lock(lock_);
  ready_.put_back(task);
  raise(pushes_);
}

bool Scheduler::withdraw(Task& task) noexcept {
  if (!task.queued()) return false;
  std::lock_guard lock(lock_);
  if (!task.queued()) return false;
  ready_.take(task);
  // In an empty queue no task starves any more.
  if (ready_.size() == 0) starving_.store(false, std::memory_order_relaxed);
  return true;
}

void Scheduler::wake_worker() noexcept {
  Wakeup wakeup;
  {
    std::lock_guard lock(lock_);
    if (ready_.size() > 0) wakeup = choose_worker(true);
  }
  carry_out(wakeup);
}

void Scheduler::done() noexcept {
  Wakeup wakeup;
  {
    std::lock_guard lock(lock_);
    lower(running_);
    if (ready_.size() > 0) wakeup = choose_worker(false);
  }
  carry_out(wakeup);
}

// ---- Workers -------------------------------------------------------------------------------------------------------

/// Takes the next task, if there is one and one more thread may run tasks. It is called under lock_.
Task* Scheduler::take(Wakeup* wakeup) noexcept {
  if (running_.load(std::memory_order_relaxed) >= limit_) return nullptr;
  Task* const task = ready_.pop();
  if (task == nullptr) return nullptr;
  raise(running_);
  starving_.store(false, std::memory_order_relaxed);
  if (ready_.size() > 0) *wakeup = choose_worker(false);
  return task;
}

/// Returns whether a worker takes the next task at once after a slice. If a worker runs each short command as soon as
/// it is submitted, the cache lines that it shares with the submitting thread go back and forth, which costs both more
/// than it gains. So a worker whose slice was short pauses, until there are more commands or the host has run them
/// itself.
bool Scheduler::keeps_running(Worker& self, const Task::Done& done, std::int64_t took_ns) noexcept {
  if (self.reserve) return took_ns > long_slice_ns;
  if (took_ns > short_slice_ns + static_cast<std::int64_t>(done.commands) * short_command_ns) {
    self.pause_ns = 0;
    return true;
  }
  const std::uint32_t actions = host_actions_.load(std::memory_order_relaxed);
  const bool host_acts = std::exchange(self.host_actions, actions) != actions ||
                         (hosts_polling_.load(std::memory_order_relaxed) > 0 && ready_.size() > 1);
  if (!host_acts && !done.caught_up) return true;
  self.pause_ns = std::clamp(2 * self.pause_ns, poll_ns, longest_pause_ns);
  return false;
}

void Scheduler::work(Worker& self) noexcept {
  // By default the system may lengthen sleeps by 50 us, which is too much for the short ones here.
  prctl(PR_SET_TIMERSLACK, 1'000, 0, 0, 0);
  while (Task* task = wait_for_task(self)) {
    std::int64_t began = now_ns();
    do {
      self.slice_began.store(began, std::memory_order_relaxed);
      const Task::Done done = task->run();
      const std::int64_t ended = now_ns();
      const std::int64_t took_ns = ended - std::exchange(began, ended);
      self.slice_began.store(0, std::memory_order_relaxed);
      self.worked_ns.store(self.worked_ns.load(std::memory_order_relaxed) + took_ns, std::memory_order_relaxed);
      const bool goes_on = keeps_running(self, done, took_ns);
      Wakeup wakeup;
      {
        std::lock_guard lock(lock_);
        lower(running_);
        if (goes_on) {
          task = take(&wakeup);
        } else {
          task = nullptr;
          if (ready_.size() > 0) wakeup = choose_worker(false);
        }
        if (task == nullptr) {
          ++polling(self.reserve);
          last_poller_ = self.reserve ? last_poller_ : &self;
        }
      }
      carry_out(wakeup);
    } while (task != nullptr);
  }
  std::lock_guard lock(end_mutex_);
  ++ended_;
  end_.notify_all();
}

/// Pauses before polling. Returns true if the worker was woken meanwhile.
bool Scheduler::pause(Worker& self) noexcept {
  if (backoff_ns_ == 0) return false;
  if (self.reserve) return self.waited_for != 0 && self.parker.park_for(reserve_ns);
  if (self.pause_ns > spin_pause_ns) return self.parker.park_for(self.pause_ns);
  spin_until(now_ns() + std::max(self.pause_ns, poll_ns));
  return false;
}

/// Polls the queue less and less often (idle backoff), until there is a task to take, or nothing was submitted for
/// quiet_ns.
Scheduler::Found Scheduler::poll(Worker& self) noexcept {
  if (pause(self)) return Found::something;
  const std::int64_t began = now_ns();
  std::int64_t last_push = began;
  std::uint32_t pushes = pushes_.load(std::memory_order_relaxed);
  for (std::int64_t now = began;; now = now_ns()) {
    if (stopping_.load(std::memory_order_relaxed)) {
      spin_until(now + poll_ns);
      return Found::something;
    }
    const bool room = running_.load(std::memory_order_relaxed) < limit_;
    const std::uint64_t oldest = ready_.oldest_push();
    if (backoff_ns_ == 0) return room && oldest != 0 ? Found::something : Found::nothing;
    if (oldest != 0 && oldest == self.waited_for) return Found::twice;
    self.waited_for = oldest;  // The next poll is compared with it, so it is set before any return.
    if (room && !self.reserve && ready_.size() > 1) return Found::something;
    if (const std::uint32_t pushes_now = pushes_.load(std::memory_order_relaxed); pushes_now != pushes) {
      pushes = pushes_now;
      last_push = now;
    }
    if (!self.reserve && now - began < spin_ns) {
      spin_until(now + poll_ns);
    } else if (oldest == 0 && now - last_push > quiet_ns) {
      return Found::nothing;
    } else if (self.parker.park_for(self.reserve ? reserve_ns : backoff_ns_)) {
      return Found::something;
    }
  }
}

/// Sleeps until it is woken. The waking thread has removed it from the sleepers.
void Scheduler::sleep(Worker& self) noexcept {
  self.parker.park(Deadline::never());
  std::lock_guard lock(lock_);
  if (!self.asleep) return;
  // Nobody has removed it from the list: it was woken by stop(), or by an unpark() from before it slept.
  Worker** link = &sleepers_;
  while (*link != &self) link = &(*link)->next;
  *link = self.next;
  self.asleep = false;
  ++polling(self.reserve);
}

/// Waits for the next task. Returns null when the worker has to end. The worker counts as polling before the call, and
/// not after it.
Task* Scheduler::wait_for_task(Worker& self) noexcept {
  for (;;) {
    const Found found = poll(self);
    Wakeup wakeup;
    Task* task = nullptr;
    bool sleeps = false;
    {
      std::lock_guard lock(lock_);
      // The count is lowered first, so that take() makes another worker poll for the tasks that are left.
      --polling(self.reserve);
      if (found != Found::nothing) task = take(&wakeup);
      // If no further thread may run tasks, the thread that ends its task takes the next one or wakes a worker.
      const bool idle = task == nullptr && (ready_.size() == 0 || running_.load(std::memory_order_relaxed) >= limit_);
      if (idle && ready_.size() == 0 && stopping_.load(std::memory_order_relaxed)) return nullptr;
      // From now on hosts claim nothing until a worker has taken a task.
      const bool starves = task == nullptr && found == Found::twice && ready_.size() > 0;
      if (starves) starving_.store(true, std::memory_order_relaxed);
      // A reserve that has set starving_ sleeps while no further thread may run tasks, because each of its polls takes
      // time from a thread that works.
      sleeps = idle && (found == Found::nothing || (starves && self.reserve));
      if (sleeps) {
        self.asleep = true;
        self.next = sleepers_;
        sleepers_ = &self;
      } else if (task == nullptr) {
        ++polling(self.reserve);
      }
    }
    carry_out(wakeup);
    if (task != nullptr) {
      self.waited_for = 0;
      return task;
    }
    if (found == Found::twice) self.pause_ns = std::clamp(2 * self.pause_ns, poll_ns, longest_pause_ns);
    if (sleeps) sleep(self);
  }
}

}  // namespace anyplace::cpu_sim
