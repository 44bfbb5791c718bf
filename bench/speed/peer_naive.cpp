// SPDX-License-Identifier: Apache-2.0
//
// What one writes first: for each stream a thread, and a queue with a mutex and a condition variable. A wait for
// another stream occupies the thread. The thread takes all that is queued at once: one lock for many operations.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
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

  void operator()() const {
    switch (kind) {
      case Kind::empty:
        return run_empty();
      case Kind::microsecond:
        return run_microsecond();
      case Kind::checked:
        return static_cast<OrderCheck*>(of)->run(step);
      case Kind::hold:
        return static_cast<Gate*>(of)->hold();
      case Kind::record:
        return static_cast<Mark*>(of)->reach(value);
      case Kind::wait:
        return static_cast<Mark*>(of)->wait(value);
    }
  }
};

template <class Operation>
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

  void push(Operation operation) {
    bool sleeps = false;
    {
      const std::lock_guard lock(mutex_);
      operations_.push_back(std::move(operation));
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
      for (const Operation& operation : taken) operation();
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

/// What has arguments is a std::function that captures them, in queues of such.
class NaiveFunctions final : public Streams {
 public:
  explicit NaiveFunctions(std::size_t count) : memory_(count), queues_(count) {}

  void submit(std::size_t stream, std::size_t operations) override {
    for (std::size_t i = 0; i < operations; ++i) queues_[stream].push([] { run_empty(); });
  }
  void submit_in_turn(std::size_t operations) override {
    for (std::size_t i = 0; i < operations; ++i) submit(i % queues_.size(), 1);
  }
  void synchronize_all() override {
    for (auto& queue : queues_) queue.drain();
  }
  void submit_one_and_synchronize(std::size_t stream) override {
    submit(stream, 1);
    queues_[stream].drain();
  }
  void block(std::size_t stream) override {
    gate_.reset();
    queues_[stream].push([this] { gate_.hold(); });
    gate_.wait_until_held();
  }
  void unblock(std::size_t) override { gate_.open(); }

  void submit_with(std::size_t stream, std::size_t operations, Arguments) override {
    for (std::size_t i = 0; i < operations; ++i) push_three(stream, static_cast<int>(i));
  }
  void submit_one_with_and_synchronize(std::size_t stream) override {
    push_three(stream, 1);
    queues_[stream].drain();
  }
  void submit_host_functions(std::size_t stream, std::size_t functions) override { submit(stream, functions); }
  void submit_host_function_and_synchronize(std::size_t stream) override { submit_one_and_synchronize(stream); }
  void submit_fills(std::size_t fills) override {
    for (std::size_t i = 0; i < fills; ++i) {
      queues_[0].push([to = memory_[0].values] { std::memset(to, 1, 64); });
    }
  }
  void submit_copies(std::size_t copies) override {
    for (std::size_t i = 0; i < copies; ++i) {
      queues_[0].push([to = memory_[0].values, from = &host_] { std::memcpy(to, from, sizeof(host_)); });
    }
  }
  void use_buffers(std::size_t count) override {
    std::vector<std::shared_ptr<unsigned char[]>> buffers(count);
    for (auto& buffer : buffers) {
      buffer = std::make_shared_for_overwrite<unsigned char[]>(4096);
      queues_[0].push([buffer, from = &host_] { std::memcpy(buffer.get(), from, sizeof(host_)); });
    }
  }
  void use_events(std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) {
      const auto event = std::make_shared<Mark>();
      queues_[0].push([event] { event->reach(1); });
      queues_[1].push([event] { event->wait(1); });
    }
  }
  void submit_plan(const std::vector<Step>& plan, Body, OrderCheck* check) override {
    for (std::uint32_t i = 0; i < plan.size(); ++i) {
      if (plan[i].after != Step::nothing) {
        auto& other = queues_[plan[i].other];
        Mark* const mark = &other.mark();
        const std::uint64_t record = other.next_record();
        other.push([mark, record] { mark->reach(record); });
        queues_[plan[i].stream].push([mark, record] { mark->wait(record); });
      }
      if (check != nullptr) {
        queues_[plan[i].stream].push([check, i] { check->run(i); });
      } else {
        push_three(plan[i].stream, static_cast<int>(i));
      }
    }
  }

 private:
  struct alignas(128) Memory {
    float values[16] = {};
  };
  void push_three(std::size_t stream, int index) {
    queues_[stream].push([to = memory_[stream].values, factor = 1.5F, index] { run_three(to, factor, index); });
  }

  Gate gate_;
  float host_[16] = {};
  std::vector<Memory> memory_;
  std::vector<Queue<std::function<void()>>> queues_;
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
    for (auto& queue : queues_) queue.drain();
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
  std::vector<Queue<Operation>> queues_;
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
  std::string lacks(Feature feature) const override {
    if (feature == Feature::image) return "knows functions of its own program";
    if (feature == Feature::grids) return "an operation is one thread's";
    if (feature == Feature::launches) return "has no graphs";
    return {};
  }
  std::size_t most_streams() const override { return 100; }  // each is a thread
  std::unique_ptr<Streams> make_streams(std::size_t count) override { return std::make_unique<NaiveStreams>(count); }
  std::unique_ptr<Streams> make_user_streams(std::size_t count) override {
    return std::make_unique<NaiveFunctions>(count);
  }
  std::unique_ptr<Copy> make_copy(std::size_t bytes) override { return std::make_unique<Memcpy>(bytes); }
};

}  // namespace

std::unique_ptr<Peer> make_naive() { return std::make_unique<Naive>(); }

}  // namespace bench
