// SPDX-License-Identifier: Apache-2.0
//
// HostRuntime: an engine on the host in this process: its world, if a launcher counts its ranks, and its end.
//
// The program may end what the engine works with itself (as MPI_Finalize does). The engine tells of that first; what is
// pending ends then, and the engine isn't called any more.
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
  /// The engine ends what it works with, and says why (anyplace_engine_host::ended).
  static void end(const Engine& engine, const char* text) noexcept;
  /// No world is ended in order from now on: a rank is missing, or the others wait for this one. At exit they are
  /// ended.
  static void give_up_all() noexcept;

  const Engine& engine() const noexcept { return engine_; }
  const anyplace_engine_table& table() const noexcept { return engine_.table; }
  /// All ranks; of an engine that has a world.
  const anyplace_engine_group& world() const noexcept { return world_.group; }
  /// Whether calls that wait for other ranks may be made on another thread, beside others.
  bool may_wait_elsewhere() const noexcept;

  /// Starts the part in the group and tests until it is done. Throws the engine's error, timeout_error(), or shut_down.
  /// Where it throws, the part's memory may still be used.
  void run(anyplace_group group, const Part& part, const Deadline& deadline, const std::string& place,
           const char* operation, const char* what, std::chrono::nanoseconds timeout);
  /// Throws the engine's error, which it left on this thread.
  void check(anyplace_status status, const std::string& place, const char* operation) const {
    check_engine(engine_, status, place, operation);
  }
  /// Throws shut_down once the engine has ended. Under Calls, where the engine is called next.
  void require_open(const std::string& place, const char* operation) const;
  bool is_over() const noexcept { return over_.load(std::memory_order_acquire); }
  /// As give_up_all(), for this engine.
  void give_up() noexcept { broken_.store(true, std::memory_order_relaxed); }
  /// How long the exit may wait for the other ranks, at least.
  void allow(std::chrono::nanoseconds timeout) noexcept;

 private:
  explicit HostRuntime(const Engine& engine) noexcept : engine_(engine) {}
  static HostRuntime* existing(const Engine& engine) noexcept;
  static HostRuntime& of(const Engine& engine);
  void begin(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  void begin_world(const std::string& place, const char* operation, std::chrono::nanoseconds timeout);
  /// At exit. After a failure, or with a status that isn't 0, it has the engine end all ranks, which would wait for
  /// this one. Else it waits for what is pending and, if the world was begun here, for the other ranks, but no longer
  /// than the timeout; then ends the world. A rank that is missing for longer leaves the world as it is.
  void finish(int status) noexcept;
  void end_all_ranks(int code) noexcept;

  struct Beginning;
  const Engine& engine_;
  HostRuntime* next_ = nullptr;  ///< of all that there are; never changes
  std::timed_mutex making_;      // guards beginning_, and world_ until begun_
  std::shared_ptr<Beginning> beginning_;
  anyplace_engine_world world_{};
  std::atomic<bool> begun_{false};
  std::atomic<bool> broken_{false};
  std::string over_text_;                         ///< written before over_
  std::atomic<bool> over_{false};                 ///< the engine has ended
  std::atomic<std::int64_t> longest_timeout_{0};  ///< nanoseconds
};

}  // namespace anyplace::detail
