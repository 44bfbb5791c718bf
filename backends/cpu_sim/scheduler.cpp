// SPDX-License-Identifier: Apache-2.0
#include "scheduler.h"

#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "failure.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

constexpr int64_t kSpinNs = 20'000;       // how long an idle worker looks without sleeping
constexpr int64_t kLookNs = 1'500;        // between two looks of that time
constexpr int64_t kReserveNs = 200'000;   // between two looks of a reserve
constexpr int64_t kQuietNs = 2'000'000;   // without a submission, after which it sleeps until it is called
constexpr int64_t kLongTurnNs = 100'000;  // of a reserve, which then stays
constexpr int64_t kShortTurnNs = 300;     // with short commands, each of them of at most:
constexpr int64_t kShortCommandNs = 200;
constexpr int64_t kLongestPauseNs = 50'000;  // before looking again after that
constexpr int64_t kSpinPauseNs = 6'000;      // that is spent without sleeping

void spin_until(int64_t ns) noexcept {
  do {
    for (int i = 0; i < 8; ++i) pause_briefly();
  } while (now_ns() < ns);
}

/// Raises a counter that is only written under a lock.
void raise(std::atomic<uint32_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
void lower(std::atomic<uint32_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

}  // namespace

Scheduler::Scheduler(uint32_t workers, int64_t doze_ns) : limit_(workers), doze_ns_(doze_ns) {
  threads_.reserve(workers);
  workers_.reserve(workers);
}

// ---- Threads -------------------------------------------------------------------------------------------------------

void Scheduler::start_first() {
  std::lock_guard threads_lock(threads_mutex_);
  if (started_any_.load(std::memory_order_relaxed)) return;
  {
    std::lock_guard lock(lock_);
    ++started_;
    ++looking_;
  }
  try {
    workers_.push_back(std::make_unique<Worker>(false));
    Worker& worker = *workers_.back();
    threads_.push_back(start_thread("cpu_sim worker", [this, &worker] { work(worker); }));
  } catch (...) {
    std::lock_guard lock(lock_);
    --started_;
    --looking_;
    throw;
  }
  started_any_.store(true, std::memory_order_release);
}

void Scheduler::start_worker(bool reserve) {
  std::lock_guard threads_lock(threads_mutex_);
  workers_.push_back(std::make_unique<Worker>(reserve));
  Worker& worker = *workers_.back();
  threads_.push_back(start_thread("cpu_sim worker", [this, &worker] { work(worker); }));
}

bool Scheduler::stop(const Deadline& deadline) {
  {
    std::lock_guard lock(lock_);
    stopping_.store(true, std::memory_order_relaxed);  // from now on nobody decides to start a worker
  }
  {
    std::lock_guard threads_lock(threads_mutex_);
    for (const auto& worker : workers_) worker->parker.unpark();
  }
  bool all_ended = false;
  {
    // Not under threads_mutex_: one that is being started takes it. It ends at once.
    std::unique_lock lock(end_mutex_);
    all_ended = deadline.wait(end_, lock, [this] { return ended_ == started(); });
  }
  std::lock_guard threads_lock(threads_mutex_);
  for (std::thread& thread : threads_) {
    if (all_ended) {
      thread.join();
    } else {
      thread.detach();  // nobody comes for it any more
    }
  }
  threads_.clear();
  return all_ended;
}

uint32_t Scheduler::started() noexcept {
  std::lock_guard lock(lock_);
  return started_;
}

// ---- Readying and claiming -----------------------------------------------------------------------------------------

/// Takes one off the sleepers, counted as looking from now on. Null if there is none. Under lock_.
Scheduler::Worker* Scheduler::call_sleeper(bool reserve) noexcept {
  for (Worker** link = &sleepers_; *link != nullptr; link = &(*link)->next) {
    Worker* const worker = *link;
    if (worker->reserve != reserve) continue;
    *link = worker->next;
    worker->asleep = false;
    ++looking(reserve);
    return worker;
  }
  return nullptr;
}

/// Sees to it that somebody looks, since something is ready and a thread may run it. Under lock_.
Scheduler::Call Scheduler::call_somebody(bool even_if_looking) noexcept {
  if (running_.load(std::memory_order_relaxed) >= limit_ || stopping_.load(std::memory_order_relaxed)) return {};
  if (looking_ > 0) return even_if_looking ? Call{looker_} : Call{};
  if (Worker* const worker = call_sleeper(false)) return {worker};
  const uint32_t eager = limit_ == 1 ? 1 : limit_ - 1;
  if (started_ < eager) {
    ++started_;
    ++looking_;
    return {nullptr, true};
  }
  if (reserves_looking_ > 0) return {};
  if (Worker* const worker = call_sleeper(true)) return {worker};
  if (started_ == limit_) return {};
  ++started_;
  ++reserves_looking_;
  return {nullptr, true, true};
}

void Scheduler::carry_out(const Call& call) noexcept {
  if (call.wake != nullptr) call.wake->parker.unpark();
  if (!call.start) return;
  try {
    start_worker(call.reserve);
  } catch (const std::exception&) {
    // start() saw to it that there is at least one, so the work still runs. Those who relied on the one that was being
    // started rely on a sleeping one, if there is any.
    Worker* worker = nullptr;
    {
      std::lock_guard lock(lock_);
      --started_;
      --looking(call.reserve);
      if (ready_.size() > 0 && looking_ == 0) worker = call_sleeper(false);
      if (ready_.size() > 0 && looking_ == 0 && reserves_looking_ == 0) worker = call_sleeper(true);
    }
    if (worker != nullptr) worker->parker.unpark();
    std::lock_guard lock(end_mutex_);
    end_.notify_all();  // started_ changed
  }
}

void Scheduler::ready(Task& task, unsigned how) noexcept {
  Call call;
  {
    std::lock_guard lock(lock_);
    ready_.push(task, (how & kWoken) != 0);
    raise(pushes_);
    if ((how & kByHost) != 0) raise(host_actions_);
    call = call_somebody((how & kForAll) != 0);
  }
  carry_out(call);
}

bool Scheduler::claim(Task& task) noexcept {
  if (!task.queued() || starving_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(lock_);
  if (!task.queued() || starving_.load(std::memory_order_relaxed)) return false;
  const uint32_t running = running_.load(std::memory_order_relaxed);
  if (running >= limit_ || (running + 1 >= limit_ && more_urgent(task.level()))) return false;
  // One thing at a time, in order: who says so gets it from hosts, too.
  if (limit_ == 1 && !ready_.is_next(task)) return false;
  ready_.take(task);
  raise(running_);
  raise(host_actions_);
  return true;
}

void Scheduler::call() noexcept {
  Call call;
  {
    std::lock_guard lock(lock_);
    if (ready_.size() > 0) call = call_somebody(true);
  }
  carry_out(call);
}

void Scheduler::done() noexcept {
  Call call;
  {
    std::lock_guard lock(lock_);
    lower(running_);
    if (ready_.size() > 0) call = call_somebody(false);
  }
  carry_out(call);
}

// ---- Workers -------------------------------------------------------------------------------------------------------

/// The next task, if there is one and a thread may run it. Under lock_.
Task* Scheduler::take(Call* call) noexcept {
  if (running_.load(std::memory_order_relaxed) >= limit_) return nullptr;
  Task* const task = ready_.pop();
  if (task == nullptr) return nullptr;
  raise(running_);
  starving_.store(false, std::memory_order_relaxed);
  if (ready_.size() > 0) *call = call_somebody(false);
  return task;
}

/// Whether a worker takes the next task at once. Running each short command as soon as it is there costs the thread
/// that submits, or helps itself, and this one, more than it gains: what they share goes to and fro between them. So a
/// worker that found few of them leaves more to come together, or to the host.
bool Scheduler::stays(Worker& self, const Task::Done& done, int64_t took_ns) noexcept {
  if (self.reserve) return took_ns > kLongTurnNs;
  if (took_ns > kShortTurnNs + static_cast<int64_t>(done.commands) * kShortCommandNs) {
    self.pause_ns = 0;
    return true;
  }
  const uint32_t actions = host_actions_.load(std::memory_order_relaxed);
  const bool host_acts = std::exchange(self.host_actions, actions) != actions ||
                         (hosts_looking_.load(std::memory_order_relaxed) > 0 && ready_.size() > 1);
  if (!host_acts && !done.caught_up) return true;
  self.pause_ns = std::clamp(2 * self.pause_ns, kLookNs, kLongestPauseNs);
  return false;
}

void Scheduler::work(Worker& self) noexcept {
  // Short sleeps are to be short; the default lets them be 50 us longer.
  prctl(PR_SET_TIMERSLACK, 1'000, 0, 0, 0);
  while (Task* task = wait_for_task(self)) {
    int64_t began = now_ns();
    do {
      const Task::Done done = task->run();
      const int64_t ended = now_ns();
      const bool goes_on = stays(self, done, ended - std::exchange(began, ended));
      Call call;
      {
        std::lock_guard lock(lock_);
        lower(running_);
        if (goes_on) {
          task = take(&call);
        } else {
          task = nullptr;
          if (ready_.size() > 0) call = call_somebody(false);
        }
        if (task == nullptr) {
          ++looking(self.reserve);
          looker_ = self.reserve ? looker_ : &self;
        }
      }
      carry_out(call);
    } while (task != nullptr);
  }
  std::lock_guard lock(end_mutex_);
  ++ended_;
  end_.notify_all();
}

/// Rests before looking. True if it was called.
bool Scheduler::pause(Worker& self) noexcept {
  if (doze_ns_ == 0) return false;
  if (self.reserve) return self.waited_for != 0 && self.parker.park_for(kReserveNs);
  if (self.pause_ns > kSpinPauseNs) return self.parker.park_for(self.pause_ns);
  spin_until(now_ns() + std::max(self.pause_ns, kLookNs));
  return false;
}

/// Idle: looks at the queue now and then, until there is something, or nothing was submitted for a while.
Scheduler::Seen Scheduler::look(Worker& self) noexcept {
  if (pause(self)) return Seen::kSomething;
  const int64_t began = now_ns();
  int64_t last_push = began;
  uint32_t pushes = pushes_.load(std::memory_order_relaxed);
  for (int64_t now = began;; now = now_ns()) {
    if (stopping_.load(std::memory_order_relaxed)) {
      spin_until(now + kLookNs);
      return Seen::kSomething;
    }
    const bool room = running_.load(std::memory_order_relaxed) < limit_;
    const uint64_t oldest = ready_.oldest_push();
    if (doze_ns_ == 0) return room && oldest != 0 ? Seen::kSomething : Seen::kNothing;
    if (oldest != 0 && oldest == self.waited_for) return Seen::kTwice;
    self.waited_for = oldest;  // before any way out: it is what the next look is compared with
    if (room && !self.reserve && ready_.size() > 1) return Seen::kSomething;
    if (const uint32_t pushes_now = pushes_.load(std::memory_order_relaxed); pushes_now != pushes) {
      pushes = pushes_now;
      last_push = now;
    }
    if (!self.reserve && now - began < kSpinNs) {
      spin_until(now + kLookNs);
    } else if (oldest == 0 && now - last_push > kQuietNs) {
      return Seen::kNothing;
    } else if (self.parker.park_for(self.reserve ? kReserveNs : doze_ns_)) {
      return Seen::kSomething;
    }
  }
}

/// Until it is called, which takes it off the sleepers.
void Scheduler::sleep(Worker& self) noexcept {
  self.parker.park(Deadline::never());
  std::lock_guard lock(lock_);
  if (!self.asleep) return;
  // A token from before it slept, or stop().
  Worker** link = &sleepers_;
  while (*link != &self) link = &(*link)->next;
  *link = self.next;
  self.asleep = false;
  ++looking(self.reserve);
}

/// Null when the worker is to end. The caller is counted as looking before, and not after.
Task* Scheduler::wait_for_task(Worker& self) noexcept {
  for (;;) {
    const Seen seen = look(self);
    Call call;
    Task* task = nullptr;
    bool sleeps = false;
    {
      std::lock_guard lock(lock_);
      --looking(self.reserve);  // first: who takes one sees to it that somebody else looks for the others
      if (seen != Seen::kNothing) task = take(&call);
      // With no room for another, who makes room takes the next task, or calls somebody.
      const bool idle = task == nullptr && (ready_.size() == 0 || running_.load(std::memory_order_relaxed) >= limit_);
      if (idle && ready_.size() == 0 && stopping_.load(std::memory_order_relaxed)) return nullptr;
      sleeps = idle && seen == Seen::kNothing;
      if (sleeps) {
        self.asleep = true;
        self.next = sleepers_;
        sleepers_ = &self;
      } else if (task == nullptr) {
        ++looking(self.reserve);
        // It comes before what hosts would help themselves to.
        if (seen == Seen::kTwice && ready_.size() > 0) starving_.store(true, std::memory_order_relaxed);
      }
    }
    carry_out(call);
    if (task != nullptr) {
      self.waited_for = 0;
      return task;
    }
    if (seen == Seen::kTwice) self.pause_ns = std::clamp(2 * self.pause_ns, kLookNs, kLongestPauseNs);
    if (sleeps) sleep(self);
  }
}

}  // namespace anyplace::cpu_sim
