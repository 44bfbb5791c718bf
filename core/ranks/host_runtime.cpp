// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_runtime.h"

#include <fmt/format.h>
#include <sched.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "ranks/call_bounded.h"
#include "ranks/engine_group.h"
#include "ranks/host_progress.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

/// The first in the list of all runtimes, which are never freed.
std::atomic<HostRuntime*> first{nullptr};

}  // namespace

/// A call of the engine's begin, which waits for all ranks, and they may come at any time or never. If a communicator's
/// timeout passes before that, the call goes on, and the next communicator waits for it.
struct HostRuntime::Beginning {
  anyplace_status status = ANYPLACE_STATUS_OK;
  Message message;
  anyplace_engine_world world{};
  std::optional<BoundedCall> call;  ///< fills the members above
};

// ---- Making --------------------------------------------------------------------------------------------------------

HostRuntime* HostRuntime::existing(const Engine& engine) noexcept {
  HostRuntime* runtime = first.load(std::memory_order_acquire);
  while (runtime != nullptr && &runtime->engine_ != &engine) runtime = runtime->next_;
  return runtime;
}

HostRuntime& HostRuntime::of(const Engine& engine) {
  if (HostRuntime* const runtime = existing(engine)) return *runtime;
  engine_ended.store(end, std::memory_order_release);
  static std::mutex adding;  // of runtimes
  const std::lock_guard lock(adding);
  if (HostRuntime* const runtime = existing(engine)) return *runtime;
  auto* const made = new HostRuntime(engine);
  made->next_ = first.load(std::memory_order_relaxed);
  first.store(made, std::memory_order_release);
  return *made;
}

HostRuntime& HostRuntime::get(const Engine& engine, const std::string& place, const char* operation,
                              std::chrono::nanoseconds timeout) {
  HostRuntime& runtime = of(engine);
  if (!runtime.begun_.load(std::memory_order_acquire)) {
    std::unique_lock lock(runtime.making_, std::defer_lock);
    // It is polled because ThreadSanitizer doesn't know how a std::timed_mutex is locked. Only the first communicators
    // of an engine can find it locked.
    if (!poll_until(Deadline(to_timeout_ns(timeout)), [&lock] { return lock.try_lock(); })) {
      throw timeout_error(place, operation, fmt::format("start {}", engine.table.title), timeout);
    }
    if (!runtime.begun_.load(std::memory_order_acquire)) runtime.begin(place, operation, timeout);
  }
  runtime.require_open(place, operation);
  return runtime;
}

void HostRuntime::begin(const std::string& place, const char* operation, std::chrono::nanoseconds timeout) {
  require_library(engine_, place, operation);
  if (engine_.has_world()) begin_world(place, operation, timeout);
  HostProgress::get().start(place, operation);
  // It runs before the core's own handler, which was registered when the backend was loaded.
  on_exit([](int status, void* runtime) { static_cast<HostRuntime*>(runtime)->finish(status); }, this);
  begun_.store(true, std::memory_order_release);
}

void HostRuntime::begin_world(const std::string& place, const char* operation, std::chrono::nanoseconds timeout) {
  if (!beginning_) {
    auto made = std::make_shared<Beginning>();
    made->world.struct_size = sizeof(made->world);
    made->world.group.struct_size = sizeof(made->world.group);
    sigset_t mask;  // for the engine's threads, and for the processes that it starts
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    const auto wait_for_all = [made = made.get(), mask, table = &engine_.table] {
      sigset_t before;
      pthread_sigmask(SIG_SETMASK, &mask, &before);
      take_message();
      made->status = table->begin(table->self, &made->world);
      made->message = take_message();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    };
    if (may_wait_elsewhere()) {
      made->call.emplace([wait_for_all, made] { wait_for_all(); });
    } else {
      wait_for_all();
    }
    beginning_ = std::move(made);
  }
  if (beginning_->call && !beginning_->call->wait(Deadline(to_timeout_ns(timeout)))) {
    throw timeout_error(place, operation, fmt::format("start {}", engine_.table.title), timeout);
  }
  const std::shared_ptr<Beginning> made = std::exchange(beginning_, nullptr);
  if (made->status != ANYPLACE_STATUS_OK) {
    throw engine_error(engine_, made->status, std::move(made->message), place, operation);
  }
  world_ = made->world;
}

bool HostRuntime::may_wait_elsewhere() const noexcept {
  std::int32_t yes = 1;
  if (table().may_wait_elsewhere == nullptr) return true;
  return table().may_wait_elsewhere(table().self, &yes) == ANYPLACE_STATUS_OK && yes != 0;
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

void HostRuntime::run(anyplace_group group, const Part& part, const Deadline& deadline, const std::string& place,
                      const char* operation, const char* what, std::chrono::nanoseconds timeout) {
  const anyplace_engine_part crossing = crossing_part(part);
  anyplace_operation started = 0;
  {
    const HostProgress::Calls calls;
    require_open(place, operation);
    check(table().operation_start(table().self, group, &crossing, 1, sizeof(crossing), &started), place, operation);
  }
  while (true) {
    {
      const std::unique_lock lock = HostProgress::get().lock_to_look();
      require_open(place, operation);
      std::uint32_t state = ANYPLACE_OPERATION_RUNNING;
      check(table().operation_test(table().self, started, &state), place, operation);
      if (state == ANYPLACE_OPERATION_DONE) return;
    }
    if (deadline.passed()) {
      give_up();
      throw timeout_error(place, operation, what, timeout);
    }
    sched_yield();
  }
}

void HostRuntime::allow(std::chrono::nanoseconds timeout) noexcept {
  std::int64_t longest = longest_timeout_.load(std::memory_order_relaxed);
  while (longest < timeout.count() && !longest_timeout_.compare_exchange_weak(longest, timeout.count())) {
  }
}

// ---- The end -------------------------------------------------------------------------------------------------------

void HostRuntime::require_open(const std::string& place, const char* operation) const {
  if (is_over()) fail(ErrorCode::shut_down, place, operation, over_text_);
}

void HostRuntime::end(const Engine& engine, const char* text) noexcept {
  HostRuntime* const runtime = existing(engine);
  if (runtime == nullptr || runtime->is_over()) return;
  try {
    runtime->over_text_ = text == nullptr ? "" : text;
  } catch (const std::exception&) {  // without memory the Error has the code's own text
  }
  runtime->over_.store(true, std::memory_order_release);
  // This waits until other threads have left the engine. One that frees a group may wait there for a lock that the
  // caller of this has; then this gives up after a second, and the next step() ends the pending operations.
  if (!HostProgress::get().lock_soon()) return;
  HostProgress::get().step(false);
}

void HostRuntime::give_up_all() noexcept {
  for (HostRuntime* one = first.load(std::memory_order_acquire); one != nullptr; one = one->next_) one->give_up();
}

void HostRuntime::end_all_ranks(int code) noexcept {
  std::fflush(nullptr);  // the engine may leave by _exit
  const std::unique_lock lock = HostProgress::get().lock_soon();
  if (!is_over()) table().end_all(table().self, code);
}

void HostRuntime::finish(int status) noexcept {
  if (!process_running() || in_callback()) return;
  const int code = status & 0xff;  // the parent process gets no other bits
  const bool broken = broken_.load(std::memory_order_relaxed);
  if (engine_.has_world() && world().size > 1 && (code != 0 || broken)) end_all_ranks(code != 0 ? code : 1);
  const std::chrono::nanoseconds timeout(longest_timeout_.load(std::memory_order_relaxed));
  const Deadline deadline(to_timeout_ns(timeout));
  if (!HostProgress::get().drain(deadline)) return;
  if (world_.begun_here == 0 || is_over() || broken_.load(std::memory_order_relaxed)) return;
  try {
    // The engine's finish waits for the other ranks without a limit, so a barrier with a limit makes sure first that
    // they come.
    run(world().group, Part(), deadline, "", "exit", "end", timeout);
    table().finish(table().self);
  } catch (const std::exception&) {  // a rank is missing, so the world can't be ended
  }
}

}  // namespace anyplace::detail
