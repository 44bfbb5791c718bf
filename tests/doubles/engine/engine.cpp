// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace anyplace::doubles {
namespace {

constinit thread_local bool user_code __attribute__((tls_model("initial-exec"))) = false;  // see life.cpp

constexpr auto poll_every = std::chrono::microseconds(100);
constexpr auto stop_within = std::chrono::seconds(10);

class UserCode {
 public:
  UserCode() noexcept { user_code = true; }
  ~UserCode() { user_code = false; }
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;
};

bool done_or_null(const CompletionRef& completion) { return completion == nullptr || completion->done; }

}  // namespace

uint64_t now_nanoseconds() noexcept {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

bool Engine::in_user_code() noexcept { return user_code; }

Engine::Engine(const EngineConfig& config) : config_(config), random_(config.seed * 2 + 0x9e3779b97f4a7c15U) {
  for (int i = 0; i < config.devices; ++i) devices_.push_back(std::make_unique<Device>());
}

uint64_t Engine::draw() {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_ >> 11;
}

CompletionRef Engine::submit(const QueueRef& queue, Operation operation) {
  if (operation.done == nullptr) operation.done = std::make_shared<Completion>();
  CompletionRef done = operation.done;
  const Lock lock(mutex_);
  start(queue->device_);
  queue->last_ = done;
  queue->operations_.push_back(std::move(operation));
  advance(queue);
  drain();
  return done;
}

CompletionRef Engine::last(const QueueRef& queue) {
  const Lock lock(mutex_);
  return queue->last_;
}

bool Engine::is_done(const CompletionRef& completion) {
  if (completion == nullptr) return true;
  const Lock lock(mutex_);
  return completion->done;
}

uint64_t Engine::done_at(const CompletionRef& completion) {
  if (completion == nullptr) return 0;
  const Lock lock(mutex_);
  return completion->done ? completion->nanoseconds : 0;
}

bool Engine::wait(const std::vector<CompletionRef>& completions,
                  const std::vector<std::shared_ptr<FaultDomain>>& domains) {
  Lock lock(mutex_);
  done_.wait(lock, [&] {
    const bool failed = std::any_of(domains.begin(), domains.end(),
                                    [](const auto& domain) { return domain != nullptr && domain->code.load() != 0; });
    return stopped() || failed || std::all_of(completions.begin(), completions.end(), done_or_null);
  });
  return !stopped();
}

bool Engine::wait_for(const CompletionRef& completion, const std::shared_ptr<FaultDomain>& domain,
                      uint64_t nanoseconds) {
  constexpr uint64_t longest = uint64_t{3600} * 1'000'000'000;  // no overflow of the clock
  Lock lock(mutex_);
  done_.wait_for(lock, std::chrono::nanoseconds(std::min(nanoseconds, longest)),
                 [&] { return stopped() || (domain != nullptr && domain->code.load() != 0) || completion->done; });
  return completion->done;
}

void Engine::complete(const CompletionRef& completion) {
  const Lock lock(mutex_);
  if (completion->done) return;
  finish(*completion);
  drain();
}

void Engine::fail(const std::shared_ptr<FaultDomain>& domain, int code) {
  int none = 0;
  domain->code.compare_exchange_strong(none, code);
  const Lock lock(mutex_);
  done_.notify_all();
  poll_.notify_all();
}

void Engine::hold(int device, bool held) {
  const Lock lock(mutex_);
  Device& of = *devices_[static_cast<std::size_t>(device)];
  of.held = held;
  of.work.notify_all();
  of.host_work.notify_all();
}

void Engine::poke() {
  const Lock lock(mutex_);
  if (!polled_.empty()) poll_.notify_all();
}

void Engine::start(int device) {
  Device& of = *devices_[static_cast<std::size_t>(device)];
  if (of.started || stopped()) return;
  of.started = true;
  for (int i = 0; i < config_.workers; ++i) threads_.emplace_back([this, device] { run_worker(device); });
  threads_.emplace_back([this, device] { run_host_functions(device); });
}

/// Lets the queue go on as far as it gets without a thread, and puts it where the next operation is done.
void Engine::advance(const QueueRef& queue) {
  if (queue->busy_ || queue->held_back_) return;
  while (!queue->operations_.empty() && advance_once(queue)) {
  }
}

/// True if the first operation is done now.
bool Engine::advance_once(const QueueRef& queue) {
  Operation& first = queue->operations_.front();
  for (const CompletionRef& before : first.after) {
    if (done_or_null(before)) continue;
    before->waiting.push_back(queue);
    queue->held_back_ = true;
    return false;
  }
  Device& device = *devices_[static_cast<std::size_t>(queue->device_)];
  switch (first.work) {
    case Work::pass:
      finish_front(queue);
      return true;
    case Work::task:
      device.ready.push_back(queue);
      device.work.notify_one();
      break;
    case Work::host:
      device.ready_host.push_back(queue);
      device.host_work.notify_one();
      break;
    case Work::poll:
      polled_.push_back(queue);
      if (!poller_started_ && !stopped()) {
        poller_started_ = true;
        threads_.emplace_back([this] { run_poller(); });
      }
      poll_.notify_all();
      break;
  }
  queue->busy_ = true;
  return false;
}

void Engine::finish_front(const QueueRef& queue) {
  const CompletionRef done = std::move(queue->operations_.front().done);
  queue->operations_.pop_front();
  finish(*done);
}

void Engine::finish(Completion& completion) {
  if (completion.done) return;  // completed from outside before its turn
  completion.done = true;
  completion.nanoseconds = now_nanoseconds();
  to_advance_.insert(to_advance_.end(), completion.waiting.begin(), completion.waiting.end());
  completion.waiting.clear();
  done_.notify_all();
}

/// Lets go on what waited for what became done. Not by recursion: chains of queues are long.
void Engine::drain() {
  while (!to_advance_.empty()) {
    const QueueRef queue = std::move(to_advance_.front());
    to_advance_.pop_front();
    queue->held_back_ = false;
    advance(queue);
  }
}

QueueRef Engine::take_ready(Device& device) {
  if (device.held || device.ready.empty()) return nullptr;
  int best = device.ready.front()->priority_;
  for (const QueueRef& queue : device.ready) best = std::min(best, queue->priority_);
  std::size_t count = 0;
  for (const QueueRef& queue : device.ready) count += queue->priority_ == best ? 1U : 0U;
  std::size_t chosen = static_cast<std::size_t>(draw() % count);
  for (auto at = device.ready.begin(); at != device.ready.end(); ++at) {
    if ((*at)->priority_ != best || chosen-- != 0) continue;
    QueueRef queue = std::move(*at);
    device.ready.erase(at);
    return queue;
  }
  return nullptr;
}

void Engine::execute(Lock& lock, const QueueRef& queue) {
  // A deque keeps its elements where they are while others are appended.
  Operation& operation = queue->operations_.front();
  const uint64_t delay = config_.seed == 0 ? 0 : draw() % 200;
  lock.unlock();
  if (delay > 100) std::this_thread::sleep_for(std::chrono::microseconds(delay - 100));
  const int failed = queue->domain_->code.load();
  int fault = 0;
  {
    const UserCode mark;
    if (failed != 0) {
      if (operation.run_failed) operation.run_failed(failed);
    } else if (operation.run) {
      fault = operation.run();
    }
    // What the functions hold may be the user's to see gone, and is let go outside the lock.
    operation.run = nullptr;
    operation.run_failed = nullptr;
  }
  if (fault != 0) fail(queue->domain_, fault);
  lock.lock();
  queue->busy_ = false;
  finish_front(queue);
  advance(queue);
  drain();
}

void Engine::run_worker(int device) {
  Device& of = *devices_[static_cast<std::size_t>(device)];
  Lock lock(mutex_);
  while (!stopped()) {
    if (const QueueRef queue = take_ready(of)) {
      execute(lock, queue);
    } else {
      of.work.wait(lock);
    }
  }
  ++threads_ended_;
  ended_.notify_all();
}

void Engine::run_host_functions(int device) {
  Device& of = *devices_[static_cast<std::size_t>(device)];
  Lock lock(mutex_);
  while (!stopped()) {
    if (of.held || of.ready_host.empty()) {
      of.host_work.wait(lock);
      continue;
    }
    const QueueRef queue = std::move(of.ready_host.front());
    of.ready_host.pop_front();
    execute(lock, queue);
  }
  ++threads_ended_;
  ended_.notify_all();
}

void Engine::run_poller() {
  Lock lock(mutex_);
  while (!stopped()) {
    if (polled_.empty()) {
      poll_.wait(lock);
      continue;
    }
    std::vector<QueueRef> looked_at;
    looked_at.swap(polled_);
    for (const QueueRef& queue : looked_at) {
      const int result = queue->domain_->code.load() != 0 ? 0 : queue->operations_.front().run();
      if (result == not_yet) {
        polled_.push_back(queue);
        continue;
      }
      int none = 0;
      if (result != 0) queue->domain_->code.compare_exchange_strong(none, result);
      queue->busy_ = false;
      finish_front(queue);
      advance(queue);
      drain();
    }
    if (!polled_.empty()) poll_.wait_for(lock, poll_every);
  }
  ++threads_ended_;
  ended_.notify_all();
}

void Engine::stop() {
  std::vector<std::thread> threads;
  {
    Lock lock(mutex_);
    if (stopped_.exchange(true)) return;
    for (const auto& device : devices_) {
      device->work.notify_all();
      device->host_work.notify_all();
    }
    poll_.notify_all();
    done_.notify_all();
    const std::thread::id self = std::this_thread::get_id();
    const bool own =
        std::any_of(threads_.begin(), threads_.end(), [self](const auto& t) { return t.get_id() == self; });
    const std::size_t all = threads_.size() - (own ? 1U : 0U);
    ended_.wait_for(lock, stop_within, [&] { return threads_ended_ >= all; });
    const bool ended = threads_ended_ >= all;
    threads.swap(threads_);
    for (std::thread& thread : threads) {
      if (!ended || thread.get_id() == self) thread.detach();
    }
  }
  for (std::thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace anyplace::doubles
