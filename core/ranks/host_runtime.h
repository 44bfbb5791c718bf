// SPDX-License-Identifier: Apache-2.0
//
// HostRuntime is an engine on the host in this process: it begins the engine's world, if a launcher counts its ranks,
// and ends it.
//
// The program may itself end what the engine works with (as MPI_Finalize does). The engine tells of that first; pending
// operations end then, and the engine isn't called any more.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "ranks/engine_error.h"
#include "ranks/engine_plugins.h"
#include "ranks/part.h"
#include "runtime/deadline.h"

namespace anyplace::detail {

class HostRuntime {
 public:
  /// Opens the engine's library and begins its world, unless that was done. Throws library_missing, and what the engine
  /// fails with; timeout_error() if not all ranks come.
  static HostRuntime& get(const Engine& engine, const std::string& place, const char* operation,
                          std::chrono::nanoseconds timeout);
  /// Called when what the engine works with ends (anyplace_engine_host::ended); `text` says why.
  static void end(const Engine& engine, const char* text) noexcept;
  /// Notes for every engine that its world can't be finished in order any more, because a rank is missing or the other
  /// ranks wait for this one. At exit the processes of all its ranks are ended instead.
  static void give_up_all() noexcept;

  const Engine& engine() const noexcept { return engine_; }
  const anyplace_engine_table& table() const noexcept { return engine_.table; }
  /// The group of all ranks. Only an engine that has a world has it.
  const anyplace_engine_group& world() const noexcept { return world_.group; }
  /// Returns whether calls that wait for other ranks may be made on another thread, while other threads are inside the
  /// engine.
  bool may_wait_elsewhere() const noexcept;

  /// Starts the part in the group and tests it until it is done. Throws the engine's error, timeout_error(), or
  /// shut_down. After it has thrown, the engine may still use the part's memory.
  void run(anyplace_group group, const Part& part, const Deadline& deadline, const std::string& place,
           const char* operation, const char* what, std::chrono::nanoseconds timeout);
  /// Throws the engine's error, which it left on this thread.
  void check(anyplace_status status, const std::string& place, const char* operation) const {
    check_engine(engine_, status, place, operation);
  }
  /// Throws shut_down once the engine has ended. Called under Calls if the engine is called next, so that it can't end
  /// in between.
  void require_open(const std::string& place, const char* operation) const;
  bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// Does for this engine what give_up_all() does for all.
  void give_up() noexcept { broken_.store(true, std::memory_order_relaxed); }
  /// Allows the exit to wait for the other ranks for `timeout`, or for longer if another call has allowed that.
  void allow(std::chrono::nanoseconds timeout) noexcept;

 private:
  explicit HostRuntime(const Engine& engine) noexcept : engine_(engine) {}
  static HostRuntime* existing(const Engine& engine) noexcept;
  static HostRuntime& of(const Engine& engine);
  void begin(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  void begin_world(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  /// Called at exit. After a failure, or with a status that isn't 0, it has the engine end all ranks, because they
  /// would wait for this one. Otherwise it waits for pending operations and, if the world was begun here, for the other
  /// ranks, but no longer than the timeout, and then ends the world. If a rank is missing for longer, the world is left
  /// as it is.
  void finish(int status) noexcept;
  void end_all_ranks(int code) noexcept;

  struct Beginning;
  const Engine& engine_;
  HostRuntime* next_ = nullptr;  ///< the next one in the list of all runtimes
  std::mutex making_;            // guards beginning_, and world_ until begun_
  std::shared_ptr<Beginning> beginning_;
  anyplace_engine_world world_{};
  std::atomic<bool> begun_{false};
  std::atomic<bool> broken_{false};
  std::string over_text_;                         ///< written before over_
  std::atomic<bool> over_{false};                 ///< the engine has ended
  std::atomic<std::int64_t> longest_timeout_{0};  ///< nanoseconds
};

}  // namespace anyplace::detail
