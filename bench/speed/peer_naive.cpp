// SPDX-License-Identifier: Apache-2.0
//
// What one writes first: for each stream a thread, and a queue with a mutex and a condition variable. A wait for
// another stream occupies the thread. The thread takes all that is queued at once: one lock for many operations.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "peer.h"

namespace bench {
namespace {

/// A number that grows: of records of a stream that have completed.
class alignas(128) Mark {
 public:
  void reach(std::uint64_t value) {
    {
      const std::lock_guard lock(mutex_);
      value_.store(value, std::memory_order_release);
    }
    changed_.notify_all();
  }
  void wait(std::uint64_t value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached(value); });
  }
  bool reached(std::uint64_t value) const { return value_.load(std::memory_order_acquire) >= value; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> value_{0};  // written under mutex_
};

struct Operation {
  enum class Kind : std::uint32_t { empty, microsecond, checked, hold, record, wait };
  Kind kind = Kind::empty;
  std::uint32_t step = 0;
  void* of = nullptr;       // OrderCheck, Gate or Mark
  std::uint64_t value = 0;  // of the mark
};

class alignas(128) Queue {
 public:
  Queue() : thread_([this] { work(); }) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    filled_.notify_one();
    thread_.join();
  }

  void push(const Operation& operation) {
    bool sleeps = false;
    {
      const std::lock_guard lock(mutex_);
      operations_.push_back(operation);
      sleeps = sleeps_;
    }
    if (sleeps) filled_.notify_one();
  }

  void drain() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return operations_.empty() && sleeps_; });
  }

  Mark& mark() { return mark_; }
  /// Of the record that is submitted next. By one thread.
  std::uint64_t next_record() { return ++records_; }

 private:
  static void run(const Operation& operation) {
    switch (operation.kind) {
      case Operation::Kind::empty:
        return run_empty();
      case Operation::Kind::microsecond:
        return run_microsecond();
      case Operation::Kind::checked:
        return static_cast<OrderCheck*>(operation.of)->run(operation.step);
      case Operation::Kind::hold:
        return static_cast<Gate*>(operation.of)->hold();
      case Operation::Kind::record:
        return static_cast<Mark*>(operation.of)->reach(operation.value);
      case Operation::Kind::wait:
        return static_cast<Mark*>(operation.of)->wait(operation.value);
    }
  }

  void work() {
    std::vector<Operation> taken;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (operations_.empty()) {
          sleeps_ = true;
          idle_.notify_all();
          filled_.wait(lock, [this] { return !operations_.empty() || ending_; });
          sleeps_ = false;
          if (operations_.empty()) return;
        }
        taken.swap(operations_);
      }
      for (const Operation& operation : taken) run(operation);
      taken.clear();
    }
  }

  std::mutex mutex_;
  std::condition_variable filled_, idle_;
  std::vector<Operation> operations_;  // guarded by mutex_
  bool sleeps_ = false;                // guarded by mutex_; whether the thread has nothing to do
  bool ending_ = false;                // guarded by mutex_
  Mark mark_;
  std::uint64_t records_ = 0;
  std::thread thread_;
};

class NaiveStreams final : public Streams {
 public:
  explicit NaiveStreams(std::size_t count) : queues_(count) {}

  void submit(std::size_t stream, std::size_t operations) override {
    for (std::size_t i = 0; i < operations; ++i) queues_[stream].push({});
  }
  void submit_in_turn(std::size_t operations) override {
    std::size_t to = 0;
    for (std::size_t i = 0; i < operations; ++i) {
      queues_[to].push({});
      if (++to == queues_.size()) to = 0;
    }
  }
  void synchronize_all() override {
    for (Queue& queue : queues_) queue.drain();
  }
  void submit_one_and_synchronize(std::size_t stream) override {
    queues_[stream].push({});
    queues_[stream].drain();
  }
  void block(std::size_t stream) override {
    gate_.reset();
    queues_[stream].push({Operation::Kind::hold, 0, &gate_, 0});
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void record(std::size_t stream, std::size_t records) override {
    for (std::size_t i = 0; i < records; ++i) record_one(stream);
  }
  std::size_t query(std::size_t questions) override {
    std::size_t complete = 0;
    for (std::size_t i = 0; i < questions; ++i) complete += queues_[0].mark().reached(recorded_);
    return complete;
  }
  void submit_hops(std::size_t hops) override {
    for (std::size_t i = 0; i < hops; ++i) {
      const std::size_t from = i % 2;
      queues_[from].push({});
      wait(1 - from, from);
    }
  }
  void submit_plan(const std::vector<Step>& plan, Body body, OrderCheck* check) override {
    const auto kind = body == Body::empty         ? Operation::Kind::empty
                      : body == Body::microsecond ? Operation::Kind::microsecond
                                                  : Operation::Kind::checked;
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (plan[i].after != Step::nothing) wait(plan[i].stream, plan[i].other);
      queues_[plan[i].stream].push({kind, i, check, 0});
    }
  }

 private:
  void record_one(std::size_t stream) {
    recorded_ = queues_[stream].next_record();
    queues_[stream].push({Operation::Kind::record, 0, &queues_[stream].mark(), recorded_});
  }
  void wait(std::size_t stream, std::size_t other) {
    record_one(other);
    queues_[stream].push({Operation::Kind::wait, 0, &queues_[other].mark(), recorded_});
  }

  Gate gate_;
  std::uint64_t recorded_ = 0;  // the record submitted last
  std::vector<Queue> queues_;
};

/// memcpy itself, between memory of the general allocator: what copies are held against.
class Memcpy final : public Peer::Copy {
 public:
  explicit Memcpy(std::size_t bytes) : host_(bytes, 1), there_(bytes, 2) {}
  void run() override { std::memcpy(there_.data(), host_.data(), host_.size()); }
  bool arrived() override { return there_ == host_; }

 private:
  std::vector<unsigned char> host_, there_;
};

class Naive final : public Peer {
 public:
  std::string name() const override { return "naive"; }
  std::size_t most_streams() const override { return 100; }  // each is a thread
  std::unique_ptr<Streams> make_streams(std::size_t count) override { return std::make_unique<NaiveStreams>(count); }
  std::unique_ptr<Copy> make_copy(std::size_t bytes) override { return std::make_unique<Memcpy>(bytes); }
};

}  // namespace

std::unique_ptr<Peer> make_naive() { return std::make_unique<Naive>(); }

}  // namespace bench
