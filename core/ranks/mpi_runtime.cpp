// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_runtime.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/call_bounded.h"
#include "ranks/engine.h"
#include "ranks/mpi_group.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

using Clock = Deadline::Clock;
/// While somebody helps, the progress thread leaves it to them.
constexpr std::chrono::microseconds pause_while_helped{2000};
/// So long it looks now and then after the last job, before it has to be woken.
constexpr int looks_before_sleep = 100;

/// MPI_Init_thread, unless the program has called it, and MPI_Comm_dup of the world: both wait for all ranks, which may
/// come at any time or never. A communicator whose time is over before they have leaves them to the next one.
struct Beginning {
  bool is_ours = false;  ///< MPI is initialised here
  int code = mpi_success;
  int provided = 0;
  MpiHandle world = 0;
  std::optional<BoundedCall> call;  ///< makes what is above, after is_ours
};

struct Only {
  std::timed_mutex mutex;  // guards making the runtime
  std::shared_ptr<Beginning> beginning;
  std::atomic<MpiRuntime*> runtime{nullptr};
};
NoDestructor<Only> only;

bool lock_until(std::unique_lock<std::timed_mutex>& lock, const Deadline& deadline) {
  if (!deadline.forever()) return lock.try_lock_until(deadline.at());
  lock.lock();
  return true;
}

constexpr const char* begin_mpi = "start MPI";

/// Attributes aren't copied to duplicates of MPI_COMM_SELF.
int copy_nothing(MpiHandle /*comm*/, int /*key*/, void* /*extra*/, void* /*in*/, void* /*out*/, int* flag) noexcept {
  *flag = 0;
  return mpi_success;
}

int tell_of_the_end(MpiHandle /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) noexcept {
  if (MpiRuntime* const runtime = MpiRuntime::existing()) runtime->leave();
  return mpi_success;
}

std::int64_t now_ticks() noexcept { return Clock::now().time_since_epoch().count(); }

}  // namespace

MpiRuntime* MpiRuntime::existing() noexcept { return only.value.runtime.load(std::memory_order_acquire); }

MpiRuntime& MpiRuntime::get(const std::string& place, const char* operation, std::chrono::nanoseconds timeout) {
  const auto usable = [&](MpiRuntime& made) -> MpiRuntime& {
    made.require_open(place, operation);
    return made;
  };
  if (MpiRuntime* const made = existing()) return usable(*made);
  std::unique_lock lock(only.value.mutex, std::defer_lock);
  if (!lock_until(lock, Deadline(to_timeout_ns(timeout)))) throw timeout_error(place, operation, begin_mpi, timeout);
  if (MpiRuntime* const made = existing()) return usable(*made);
  std::unique_ptr<MpiRuntime> runtime(new MpiRuntime);
  runtime->initialise(place, operation, timeout);
  only.value.runtime.store(runtime.get(), std::memory_order_release);
  return *runtime.release();  // its thread may outlive main
}

Error MpiRuntime::error_of(int code, const std::string& place, const char* operation) const {
  std::vector<char> text(mpi_text_room);
  int length = 0;
  mpi_->Error_string(code, text.data(), &length);
  ErrorDetails details;
  details.code = ErrorCode::backend_failed;
  details.place = place;
  details.operation = operation;
  details.text = "MPI failed";
  details.vendor_code = code;
  details.vendor_name = "MPI";
  details.vendor_text = text.data();
  return Error(std::move(details));
}

void MpiRuntime::check(int code, const std::string& place, const char* operation) const {
  if (code != mpi_success) throw error_of(code, place, operation);
}

void MpiRuntime::begin(const std::string& place, const char* operation, std::chrono::nanoseconds timeout) {
  std::shared_ptr<Beginning>& beginning = only.value.beginning;
  int initialized = 0, provided = 0;
  mpi_->Initialized(&initialized);
  if (!beginning && initialized != 0) check(mpi_->Query_thread(&provided), place, operation);
  if (!beginning) {
    auto made = std::make_shared<Beginning>();
    made->is_ours = initialized == 0;
    made->provided = provided;
    made->world = mpi_->comm_null;
    sigset_t mask;  // of MPI's threads, and of the processes that it starts
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const auto wait_for_all = [made, mask, mpi = mpi_] {
      if (made->is_ours) {
        pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        made->code = mpi->Init_thread(nullptr, nullptr, mpi_thread_multiple, &made->provided);
      }
      if (made->code != mpi_success || made->provided < mpi_thread_serialized) return;
      made->code = mpi->Comm_dup(mpi->comm_world, &made->world);
    };
    if (made->is_ours || provided >= mpi_thread_multiple) {
      made->call.emplace(wait_for_all);
    } else {
      wait_for_all();  // MPI allows one thread at a time
    }
    beginning = std::move(made);
  }
  if (beginning->call && !beginning->call->wait(Deadline(to_timeout_ns(timeout)))) {
    throw timeout_error(place, operation, begin_mpi, timeout);
  }
  const std::shared_ptr<Beginning> made = beginning;
  if (made->code != mpi_success || made->provided < mpi_thread_serialized) beginning.reset();
  check(made->code, place, operation);
  begun_here_ = made->is_ours;
  world_ = made->world;
  multiple_ = made->provided >= mpi_thread_multiple;
  if (made->provided >= mpi_thread_serialized) return;
  fail(ErrorCode::unsupported, place, operation,
       "MPI was initialised for calls of one thread alone\ninitialise it with MPI_Init_thread and MPI_THREAD_MULTIPLE, "
       "or leave that to anyplace\nsee docs/ranks.md");
}

void MpiRuntime::initialise(const std::string& place, const char* operation, std::chrono::nanoseconds timeout) {
  CommunicatorEngine status;
  mpi_ = mpi_library(status);
  if (mpi_ == nullptr) {
    fail(ErrorCode::library_missing, place, operation,
         "the engine mpi can't be used: " + status.reason + "\ninstall it\n`anyplace doctor` lists the engines");
  }
  int finalized = 0;
  mpi_->Finalized(&finalized);
  over_ = finalized != 0;
  require_open(place, operation);
  begin(place, operation, timeout);
  cuda_aware_ = mpi_->Query_cuda_support != nullptr && mpi_->Query_cuda_support() == 1;
  check(mpi_->Comm_rank(mpi_->comm_world, &world_rank_), place, operation);
  check(mpi_->Comm_size(mpi_->comm_world, &world_size_), place, operation);
  check(mpi_->Comm_set_errhandler(world_, mpi_->errors_return), place, operation);
  if (!make_own_ops(*mpi_, own_ops_)) fail(ErrorCode::backend_failed, place, operation, "MPI_Op_create failed");
  listen_for_the_end(place, operation);

  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stopped_ = false;
  try {
    std::thread([this] { progress(); }).detach();
  } catch (const std::exception& error) {
    stopped_ = true;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    fail(ErrorCode::out_of_memory, place, operation, fmt::format("no thread can be started: {}", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // Runs before the core's own handler, which was registered when the backend was loaded.
  on_exit([](int status, void* /*nothing*/) { existing()->finish(status); }, nullptr);
}

// ---- The program's MPI_Finalize ------------------------------------------------------------------------------------

void MpiRuntime::require_open(const std::string& place, const char* operation) const {
  if (!is_over()) return;
  fail(ErrorCode::shut_down, place, operation,
       "the program has called MPI_Finalize, after which nothing of MPI can be used\ncall it when communicators aren't "
       "used any more, or leave it to anyplace\nsee docs/ranks.md");
}

void MpiRuntime::listen_for_the_end(const std::string& place, const char* operation) {
  int key = 0;
  check(mpi_->Comm_create_keyval(copy_nothing, tell_of_the_end, &key, nullptr), place, operation);
  check(mpi_->Comm_set_attr(mpi_->comm_self, key, nullptr), place, operation);
}

void MpiRuntime::leave() noexcept {
  over_.store(true, std::memory_order_release);
  // Those who are inside of MPI come out first. One that frees a communicator waits there for a lock that MPI_Finalize
  // has: then the next look ends what is pending.
  if (!lock_soon()) return;
  step(false);
}

std::unique_lock<std::mutex> MpiRuntime::lock_soon() noexcept {
  constexpr std::chrono::seconds longest{1};
  const auto until = Clock::now() + longest;
  wanting_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(calls_, std::try_to_lock);
  while (!lock && Clock::now() < until) {
    sched_yield();
    static_cast<void>(lock.try_lock());
  }
  wanting_.fetch_sub(1, std::memory_order_relaxed);
  return lock;
}

// ---- Progress ------------------------------------------------------------------------------------------------------

void MpiRuntime::add(std::shared_ptr<MpiGroup> group) {
  if (!group->listed_) {
    group->listed_ = true;
    groups_.push_back(std::move(group));
  }
  if (thread_sleeps_) changed_.notify_all();
}

void MpiRuntime::forget_last(std::uint64_t stream_id, const MpiJob* job) {
  const auto found = last_.find(stream_id);
  if (found != last_.end() && found->second.get() == job) last_.erase(found);
}

bool MpiRuntime::step(bool by_waiter) noexcept {
  std::vector<std::pair<std::shared_ptr<MpiGroup>, MpiGroup::Signals>> done;
  bool running = false;
  {
    while (wanting_.load(std::memory_order_relaxed) > 0) sched_yield();
    const std::lock_guard lock(calls_);
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < groups_.size();) {
      MpiGroup::Signals signals;
      running = groups_[i]->step(now, by_waiter, signals) || running;
      const bool over = !groups_[i]->has_jobs();
      if (over) groups_[i]->listed_ = false;
      if (!signals.empty()) {
        done.emplace_back(groups_[i], std::move(signals));
      } else if (over) {
        done.emplace_back(groups_[i], MpiGroup::Signals());  // its end takes the lock
      }
      if (over) {
        groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  for (const auto& [group, signals] : done) group->signal(signals);
  return running;
}

void MpiRuntime::help() noexcept {
  helpers_.fetch_add(1, std::memory_order_relaxed);
  const bool running = step(true);
  helped_at_.store(now_ticks(), std::memory_order_relaxed);
  helpers_.fetch_sub(1, std::memory_order_relaxed);
  if (running) return;
  std::unique_lock lock(calls_);
  // Nothing of MPI's is under way: what is to come becomes ready, or is over already.
  if (!groups_.empty()) changed_.wait_for(lock, std::chrono::milliseconds(1));
}

void MpiRuntime::progress() noexcept {
  pthread_setname_np(pthread_self(), "anyplace-mpi");
  int idle_looks = 0;
  while (true) {
    {
      std::unique_lock lock(calls_);
      if (stopping_) break;
      if (groups_.empty() && ++idle_looks > looks_before_sleep) {
        thread_sleeps_ = true;
        changed_.wait(lock, [this] { return stopping_ || !groups_.empty(); });
        thread_sleeps_ = false;
        idle_looks = 0;
        continue;
      }
      if (!groups_.empty()) idle_looks = 0;
      const std::int64_t helped_ago = now_ticks() - helped_at_.load(std::memory_order_relaxed);
      const bool helped = helpers_.load(std::memory_order_relaxed) > 0 ||
                          helped_ago < std::chrono::nanoseconds(pause_while_helped).count();
      if (groups_.empty() || helped) {
        lock.unlock();
        std::this_thread::sleep_for(pause_while_helped);
        continue;
      }
    }
    if (step(false)) continue;
    std::unique_lock lock(calls_);
    if (!groups_.empty() && !stopping_) changed_.wait_for(lock, std::chrono::milliseconds(1));
  }
  const std::lock_guard lock(calls_);
  stopped_ = true;
  changed_.notify_all();
}

void MpiRuntime::await(MpiHandle& request, const Deadline& deadline, const std::string& place, const char* operation,
                       const char* what, std::chrono::nanoseconds timeout) {
  while (true) {
    int done = 0;
    {
      const std::lock_guard lock(calls_);
      require_open(place, operation);
      check(mpi_->Test(&request, &done, mpi_->status_ignore()), place, operation);
    }
    if (done != 0) return;
    if (deadline.passed()) {
      give_up();
      throw timeout_error(place, operation, what, timeout);
    }
    sched_yield();
  }
}

void MpiRuntime::allow(std::chrono::nanoseconds timeout) noexcept {
  std::int64_t longest = longest_timeout_.load(std::memory_order_relaxed);
  while (longest < timeout.count() && !longest_timeout_.compare_exchange_weak(longest, timeout.count())) {
  }
}

void MpiRuntime::end_all_ranks(int code) noexcept {
  std::fflush(nullptr);  // MPI leaves by _exit
  const std::unique_lock lock = lock_soon();
  if (!is_over()) mpi_->Abort(mpi_->comm_world, code);
}

void MpiRuntime::finish(int status) noexcept {
  if (!process_running() || in_callback()) return;
  const int code = status & 0xff;  // as the parent gets it
  if (world_size_ > 1 && (code != 0 || broken_.load(std::memory_order_relaxed))) end_all_ranks(code != 0 ? code : 1);
  const std::chrono::nanoseconds timeout(longest_timeout_.load(std::memory_order_relaxed));
  const Deadline deadline(to_timeout_ns(timeout));
  {
    std::unique_lock lock(calls_);
    const auto until = [&](auto&& predicate) {
      while (!predicate() && !deadline.passed()) changed_.wait_for(lock, std::chrono::milliseconds(1));
    };
    until([this] { return groups_.empty(); });
    stopping_ = true;
    changed_.notify_all();
    until([this] { return stopped_; });
    if (!stopped_ || !groups_.empty()) return;
  }
  if (!begun_here_ || is_over() || broken_.load(std::memory_order_relaxed)) return;
  try {
    // MPI_Finalize waits for the others without a limit, so it is made sure first that they come.
    run([this](MpiHandle* request) { return mpi_->Ibarrier(world_, request); }, deadline, "", "exit", "end", timeout);
    mpi_->Finalize();
  } catch (const std::exception&) {  // a rank is missing: there is nobody to end MPI with
  }
}

}  // namespace anyplace::detail
