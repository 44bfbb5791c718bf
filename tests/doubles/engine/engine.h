// SPDX-License-Identifier: Apache-2.0
//
// Work in queues, on threads: what a double of any vendor's runtime executes its streams with. Knows nothing of a
// vendor.
//
// Invariants: the operations of one queue run one after another, in the order of their submission; nothing runs on the
// thread that submits it; a queue that is held back (by another queue's work, by a value in memory, by the host) holds
// back no other; host functions of a device run one at a time on a thread of their own, so that a blocked one stops no
// other work. Which of several ready queues goes first is drawn by chance, so that a missing wait can show.
//
// One mutex guards all queues, completions and threads of the engine. Operations run without it. Lock order: a double's
// own locks, then this one, then that of the address space.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace anyplace::doubles {

class Queue;

/// Whether one operation is done. Guarded by the engine's mutex.
struct Completion {
  bool done = false;
  uint64_t nanoseconds = 0;                     // of the steady clock, when it was done
  std::vector<std::shared_ptr<Queue>> waiting;  // queues whose next operation comes behind this one
};
using CompletionRef = std::shared_ptr<Completion>;

/// What fails together: a fault of one operation makes the rest of the domain's work vanish. 0: none.
struct FaultDomain {
  std::atomic<int> code{0};
};

enum class Work : uint8_t {
  task,  // on one of the device's workers
  host,  // on the device's thread for host functions
  pass,  // nothing runs: a point in the queue that its `after` hold back
  poll,  // waits until `run` gives another value than not_yet; looked at now and then
};
constexpr int not_yet = -1;

struct Operation {
  Work work = Work::task;
  /// 0, or the code of a fault. poll: also not_yet; it is called with the engine's mutex held.
  std::function<int()> run;
  /// Called instead of run, on the same thread, if the domain has failed. May be empty.
  std::function<void(int fault)> run_failed;
  std::vector<CompletionRef> after;
  CompletionRef done;  // made by submit if it is null
};

struct EngineConfig {
  int devices = 1;
  int workers = 3;    // per device
  uint64_t seed = 0;  // of the order in which queues run; not 0: also of delays before operations
};

/// A queue of operations on one device. Guarded by the engine's mutex; only Engine's members touch it.
class Queue {
 public:
  Queue(int device, int priority, std::shared_ptr<FaultDomain> domain)
      : device_(device), priority_(priority), domain_(std::move(domain)) {}

 private:
  friend class Engine;
  const int device_;
  const int priority_;  // a lower number goes first
  const std::shared_ptr<FaultDomain> domain_;
  std::deque<Operation> operations_;
  CompletionRef last_;
  bool busy_ = false;       // its first operation is ready, running or polled
  bool held_back_ = false;  // it is in the `waiting` of what its first operation comes behind
};
using QueueRef = std::shared_ptr<Queue>;

class Engine {
 public:
  explicit Engine(const EngineConfig& config);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() = delete;  // threads may run in it until the process ends

  /// Appends, behind `operation.after` and all that the queue has. Gives its completion.
  CompletionRef submit(const QueueRef& queue, Operation operation);
  /// The completion of what was submitted last; null if nothing was.
  CompletionRef last(const QueueRef& queue);
  bool is_done(const CompletionRef& completion);
  bool is_done(const QueueRef& queue) { return is_done(last(queue)); }
  /// When it was done, in nanoseconds; 0 if it isn't.
  uint64_t done_at(const CompletionRef& completion);
  /// Until all are done, or one of `domains` has failed, or the engine was stopped. False: stopped.
  bool wait(const std::vector<CompletionRef>& completions, const std::vector<std::shared_ptr<FaultDomain>>& domains);

  /// The same for one, at most so long; false also when time ran out.
  bool wait_for(const CompletionRef& completion, const std::shared_ptr<FaultDomain>& domain, uint64_t nanoseconds);
  /// Makes it done, whatever it is the completion of, or of nothing: what the host signals. Twice is fine.
  void complete(const CompletionRef& completion);

  /// Makes the domain fail with `code` unless it has already, and lets go what its queues wait for.
  void fail(const std::shared_ptr<FaultDomain>& domain, int code);

  /// While held, workers of the device begin nothing new.
  void hold(int device, bool held);

  /// What poll looks at may have changed.
  void poke();

  /// Ends the threads: they begin nothing new. Waits at most ten seconds for what is running; what still runs then goes
  /// on until the process ends. Afterwards nothing submitted will run.
  void stop();
  bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

  /// Whether the calling thread runs a host function or a kernel of some engine.
  static bool in_user_code() noexcept;

 private:
  struct Device {
    std::vector<QueueRef> ready;      // first operation is a task
    std::deque<QueueRef> ready_host;  // first operation is a host function
    std::condition_variable work, host_work;
    bool held = false;
    bool started = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  void start(int device);
  void run_worker(int device);
  void run_host_functions(int device);
  void run_poller();
  QueueRef take_ready(Device& device);
  void execute(Lock& lock, const QueueRef& queue);
  void advance(const QueueRef& queue);
  bool advance_once(const QueueRef& queue);
  void finish_front(const QueueRef& queue);
  void finish(Completion& completion);
  void drain();
  uint64_t draw();

  const EngineConfig config_;
  std::mutex mutex_;  // guards all below but stopped_
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::thread> threads_;
  std::size_t threads_ended_ = 0;
  std::vector<QueueRef> polled_;
  std::deque<QueueRef> to_advance_;
  bool poller_started_ = false;
  uint64_t random_;
  std::condition_variable poll_, done_, ended_;
  std::atomic<bool> stopped_{false};
};

/// Of the steady clock.
uint64_t now_nanoseconds() noexcept;

}  // namespace anyplace::doubles
