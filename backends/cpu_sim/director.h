// SPDX-License-Identifier: Apache-2.0
//
// The Director is the deterministic mode's scheduler: docs/cpu_sim-deterministic.md is its contract. There is none in
// threads mode. The code parts in few places: Scheduler and HostThread give it what becomes ready, graphs are run node
// by node (graph_branches.h), freed memory is kept (freed_blocks.h), wait_for() (help.h) waits here, device clocks read
// its time, and door.h puts it in front of the entries.
//
// One thing happens at a time. A host thread's call takes the turn, and gives it back when the call returns. Between
// two calls nothing of a stream happens. When a call returns that may have changed what is ready, and while a call
// waits, there is a choice: which thread goes on, or which stream executes its next operation. Operations are executed
// on threads of the director's own, because an operation may need a lock that the calling thread holds. One more
// thread, the supervisor, chooses while no thread is in a call: a program may wait for what its work does without us.
//
// Before each choice the process is let come to rest: every operation is over or blocked, and every other thread waits
// at a call or for something else. Who wakes whom is then the program's doing and not the system's. The kernel tells
// which threads run (process_threads.h). What depends on real time all the same (a thread that sleeps by the clock, one
// that computes for long) isn't waited for for ever, and is said in the report.
//
// With a profile, what can happen has a time: an operation that of its end (virtual_time.h), a thread that at which its
// call is over. The plain schedule takes what is earliest, so that operations take effect in the order of their ends,
// and a strategy that takes something else lets the earlier ones take longer. A call has its effects at its end, so
// there is a choice before it, too.
//
// mutex_ is a leaf of the lock order (stream.h); no operation is executed and no strategy waits under it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"
#include "config.h"
#include "cost_model.h"
#include "operation.h"
#include "process_threads.h"
#include "rank_board.h"
#include "record.h"
#include "schedule_report.h"
#include "strategy.h"
#include "task.h"
#include "virtual_time.h"

namespace anyplace::cpu_sim {

class Director {
 public:
  static constexpr int deadlock_status = 94;  ///< The process ends with it.
  static constexpr int diverged_status = 95;  ///< The process ends with it.

  /// Returns the director, or null in threads mode.
  static Director* get() noexcept { return director_; }
  /// Makes the director if the configuration asks for one and there is none. Throws Failure for what it can't follow.
  static void make(const Config& config);

  /// Returns whether operations take their time by a profile.
  bool has_profile() const noexcept { return time_ != nullptr; }

  // -- For the scheduler.
  /// Makes sure that there is a thread that executes operations. Throws Failure.
  void start();
  /// Takes a task that is ready. Any thread may call it, under locks.
  void ready(Task& task) noexcept;
  /// Ends the threads and the report. Returns false if an operation is still being executed.
  bool stop(const Deadline& deadline);

  /// Notes a stream that was made, or made anew. Streams are never freed.
  void add(Task& stream);
  /// Notes that the stream with that number is gone: its last handle was dropped, and its work is done.
  void forget_stream(std::uint64_t number) noexcept;
  /// Notes memory of a device or pinned memory: the report shows addresses in it by its number.
  void add_memory(anyplace_address begin, std::uint64_t bytes);
  void remove_memory(anyplace_address begin);

  // -- For the threads that call host functions.
  /// Is called by such a thread when it starts.
  void add_host_thread(const void* key) noexcept;
  void host_work_posted(const void* key) noexcept;
  void host_work_begun(const void* key) noexcept;
  void host_work_done(const void* key) noexcept;

  // -- For the entries.
  /// Takes the turn for a call. Returns false if the call isn't directed: it is of a thread of this library's own.
  bool begin_call(const char* name);
  enum class Outcome : std::uint8_t {
    nothing,   // The call has changed nothing.
    waited,    // The call has waited for something that is done now.
    changed,   // What is ready may have changed.
    not_ready  // The call asked whether something is done, and it isn't.
  };
  /// Gives the turn back, when others have had it if they are chosen.
  void end_call(Outcome outcome);
  /// Returns whether the calling thread is in a call that has the turn.
  bool has_turn() noexcept;
  /// Waits for the records inside a call, as wait_for() in help.h.
  bool wait_for(std::span<const Record> records, std::uint64_t timeout_ns);
  /// Chooses, inside a call, in which way it does what it is for, as a device's driver may do it in one or the other.
  /// `what` says which ways there are, the plain schedule's first. `kind` is the report's word for the choice. Returns
  /// an index; it is 0 outside of a call that has the turn.
  std::size_t choose_in_call(const char* kind, const std::vector<std::string>& what);
  /// Gives the turn back for the time of a wait for something else, which the director knows nothing of. Returns
  /// whether the calling thread had it; if so, it takes it again afterwards.
  bool leave_turn(const char* why);
  void take_turn_again();

  // -- For messages of other ranks (director_messages.cpp).
  /// Returns whether this process is a rank of a job with several.
  bool is_rank() const noexcept { return job_.has_ranks(); }
  /// Notes that a message came, for which a stream waits at the gate. The stream goes on when that is chosen.
  void message_came(Gate& gate) noexcept;

  /// Returns the real time that operations have taken so far.
  std::int64_t worked_ns() const noexcept { return worked_ns_.load(std::memory_order_relaxed); }
  std::int64_t now_ns() const noexcept { return clock_ns_.load(std::memory_order_relaxed); }

 private:
  /// A Caller is a host thread that calls entries.
  struct Caller {
    enum class State : std::uint8_t { outside, enters, returns, waits };
    pid_t thread = 0;
    std::uint64_t number = unnumbered;
    State state = State::outside;
    const char* call = "";
    std::uint64_t calls = 0;
    std::uint64_t submissions = 0;         // Option::submitted
    std::int64_t time_ns = 0;              // With a profile: it can go on at this time.
    std::span<const Record> records;       // It waits for them.
    std::int64_t deadline_ns = INT64_MAX;  // It waits until this virtual time.
    std::int64_t real_deadline_ns = INT64_MAX;
    unsigned passed_over = 0;  // It could have gone on at so many choices since it last did.
    unsigned in_vain = 0;      // So many calls in a row found that something isn't done, and nothing happened since.
    std::condition_variable turn;
  };
  struct Executor {
    std::thread thread;
    pid_t id = 0;
    Task* task = nullptr;
    bool has_begun = false;   // The thread has seen the task.
    bool is_blocked = false;  // The operation was blocked when the process came to rest.
    std::condition_variable wake;
  };
  /// A HostThreadNote counts the functions that a device's host thread has to call.
  struct HostThreadNote {
    pid_t id = 0;
    unsigned busy = 0;
    bool has_begun = false;   // The thread calls one of them.
    bool is_blocked = false;  // As an Executor's.
  };
  struct Memory {
    anyplace_address end;
    std::uint64_t number;
  };
  /// A Candidate is an option with what it stands for: a caller or a task.
  struct Candidate {
    Option option;
    Caller* caller = nullptr;
    Task* task = nullptr;
    Operation operation;
    std::int64_t time_ns = 0;  // With a profile: it happens at this time.
  };
  static constexpr std::uint64_t unnumbered = UINT64_MAX;

  using Lock = std::unique_lock<std::mutex>;

  Lock enter() noexcept;
  void enter_again(Lock& lock) noexcept;

  explicit Director(const Config& config);
  ~Director() = delete;  // Threads of an exiting process may use it.

  // -- Turns (director.cpp). All are called under mutex_.
  Caller& self();
  void forget_ended();
  void take_turn(Lock& lock, Caller& self, Caller::State state);
  void give_turn(Caller* self) noexcept;
  void direct(Lock& lock);
  bool may_go_on(const Caller& caller) const noexcept;
  std::vector<Candidate> candidates();
  void add_operations(std::vector<Candidate>& candidates);
  void note_submissions();
  void set_clock(std::int64_t ns);
  void mark_needed(std::vector<Candidate>& candidates);
  std::size_t index_of_first_ready(const std::vector<Candidate>& candidates) const;
  std::size_t index_of_earliest(const std::vector<Candidate>& candidates) const;
  std::size_t plain_of(const std::vector<Candidate>& candidates) const;
  std::size_t choose(const std::vector<Candidate>& candidates);
  std::size_t or_passed_over(const std::vector<Candidate>& candidates, std::size_t plain, std::size_t taken);
  std::size_t ask(const std::vector<Option>& options, std::size_t plain, const std::vector<std::string>& what);
  bool is_somebody_here() const noexcept;

  // -- Execution (director_execution.cpp). All are called under mutex_.
  void execute(Lock& lock, const Candidate& candidate);
  void execute_here(Lock& lock, Task& task);
  bool execute_silent(Lock& lock);
  Executor& idle_executor();
  void run_executor(Executor& executor) noexcept;

  // -- Messages (director_messages.cpp). All are called under mutex_.
  void add_messages(std::vector<Candidate>& candidates);
  bool has_messages();
  void receive(Lock& lock, const Candidate& candidate);
  bool choose_again(const Candidate& candidate);
  bool has_other(const Candidate& candidate);
  std::int64_t first_deadline() const noexcept;
  void join_board();
  RankBoard::Verdict ask_board(bool has_other, bool& has_moved);
  bool only_others_may_act();
  std::int64_t receiver_ns();
  bool has_receiver_gone_on();

  // -- Rest (director_rest.cpp). All are called under mutex_.
  void settle(Lock& lock);
  bool is_alone();
  bool own_work_is_over() const noexcept;
  bool own_work_goes_on() const noexcept;
  bool own_work_is_to_begin() const noexcept;
  bool look_at_threads(std::int64_t patience_ns);
  static bool is_patient_with(OpenThread& thread, bool is_operation, std::int64_t patience_ns);
  void report_impatience(const OpenThread& thread, bool is_operation);
  void admit_fresh();
  bool is_nothing_ready() const noexcept { return ready_.empty() && fresh_.empty(); }
  bool waits_here(pid_t thread) const noexcept;
  bool is_own(pid_t thread) const noexcept;
  bool has_own_work(pid_t thread) const noexcept;
  void wait_for_others(Lock& lock);
  void supervise() noexcept;
  [[noreturn]] void end_in_deadlock();
  std::string what_waits();

  // -- Reporting (director_report.cpp). All are called under mutex_.
  std::string choice_text(const char* kind, const Caller* at, std::size_t options, std::size_t taken,
                          std::size_t plain) const;
  void report_choice(const std::vector<Candidate>& candidates, std::size_t taken, std::size_t plain);
  void report_in_call(const char* kind, std::size_t taken, const std::vector<std::string>& what);
  void report_ran(const Operation& operation, std::int64_t begin_ns, std::int64_t end_ns, bool is_blocked);
  void report_uncontrolled(const std::string& what);
  void report_end();
  [[noreturn]] void end_diverged(const std::vector<std::string>& what, std::size_t taken);
  std::string ranges_text(const Operation& operation, const std::vector<Operation::Range>& ranges) const;
  std::uint64_t allocations_of(const Operation& operation) const;
  Option option_of(const Operation& operation) const;
  static std::string what_of(const Candidate& candidate);

  static constinit Director* director_;
  static constinit thread_local Caller* this_caller_;  // It is null before the thread's first call.

  const CostModel costs_{};
  const Job job_;
  const bool prints_hash_;
  const std::string name_;                         // What is said on standard error begins with it.
  std::atomic<std::int64_t> clock_ns_{1'000'000};  // It is written under mutex_.
  std::atomic<std::int64_t> worked_ns_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> stopped_{false};

  std::atomic<unsigned> entering_{0};  // So many threads wait for mutex_.
  std::mutex mutex_;                   // It guards all that follows.
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<VirtualTime> time_;  // It is null without a profile.
  ScheduleReport report_;
  std::vector<Caller*> callers_;
  std::uint64_t numbers_ = 0;      // So many callers have numbers.
  Caller* holder_ = nullptr;       // It has the turn.
  Caller* last_holder_ = nullptr;  // It had the turn last, and is compared only.
  bool directing_ = false;         // A thread is in direct().
  std::vector<Task*> ready_;       // They are in the order in which they became ready.
  std::vector<Task*> fresh_;       // They became ready since the process was at rest last.
  std::thread::id made_ready_by_;  // The thread that made the last of them ready.
  bool fresh_is_mixed_ = false;    // Several threads made them ready.
  bool may_be_silent_ = false;     // One of ready_ or fresh_ may be no choice (execute_silent).
  std::vector<Task*> streams_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::thread supervisor_;
  pid_t supervisor_id_ = 0;
  std::condition_variable supervise_;  // It is notified at the end, and when ready_ isn't empty any more if the
  bool supervisor_sleeps_ = false;     // supervisor waits for that.
  std::map<const void*, HostThreadNote> host_threads_;
  std::condition_variable rest_;  // It is notified when an operation or a host function is over.
  std::map<anyplace_address, Memory> memory_;
  std::uint64_t allocations_ = 0;
  std::set<Gate*> messages_;         // They came, and their streams have yet to go on. Each is counted.
  std::set<std::uint64_t> refused_;  // No message is chosen for these streams until something else has happened.
  RankBoard board_;
  bool has_board_ = false;
  std::uint64_t received_ = 0;           // RankBoard::Look has this.
  std::int64_t received_at_ns_ = 0;      // It rose at this real time.
  std::int64_t receiver_before_ns_ = 0;  // The thread that receives had computed so long then.
  std::int64_t receiver_began_ns_ = 0;   // It had computed so long when the supervisor saw the process at rest first.
  ProcessThreads threads_;
  std::uint64_t alone_at_ = 0;  // At this listing of threads_ the program had one thread.
  std::set<std::string> said_;  // These uncontrolled things are in the report.
  bool is_stuck_ = false;       // There is nothing to choose from,
  Waited stuck_{5'000'000};     // for so long.
  std::uint64_t choices_ = 0;
  std::uint64_t ran_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t submissions_ = 0;  // A caller had so many submissions at most.
};

/// Returns the time that the devices' clocks show: virtual time in the deterministic mode.
inline std::int64_t device_now_ns() noexcept {
  const Director* const director = Director::get();
  return director == nullptr ? now_ns() : director->now_ns();
}

}  // namespace anyplace::cpu_sim
