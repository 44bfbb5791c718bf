// SPDX-License-Identifier: Apache-2.0
//
// Work: a device's streams, those included that the user destroyed while they had work: Level Zero forbids destroying
// what is in use, so they are ended later, when it is over. PendingWork is a moment in all of them.
//
// LegacyTurn: the order between the null stream and blocking streams, for the time of one submission.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "error.h"
#include "signal.h"

namespace anyplace::levelzero {

class Stream;
enum class StreamOrder : std::uint8_t;

/// A command list of ours that no stream has, and whose work is over.
struct IdleList {
  ze_command_list_handle_t list = nullptr;
  StreamOrder order{};
  std::int32_t priority = 0;
};

class PendingWork {
 public:
  /// Throws what the driver says of the work, DEVICE_LOST for one.
  bool is_over() const;
  const std::vector<SignalRef>& signals() const noexcept { return signals_; }

 private:
  friend class Work;
  std::vector<SignalRef> signals_;
};

class Work {
 public:
  explicit Work(Device& device) noexcept : device_(device) {}
  Work(const Work&) = delete;  // streams are linked into it
  Work& operator=(const Work&) = delete;

  void add(Stream& stream) noexcept;
  /// One more handle of the stream whose list this is; null if there is none.
  Stream* share(ze_command_list_handle_t list) noexcept;
  /// Adds it, unless there is one of its list meanwhile: that one is shared then.
  Stream* add_or_share(std::unique_ptr<Stream> stream) noexcept;
  /// A handle of the stream is gone. After the last one it ends: now if its work is over, else at a later sweep. Never
  /// waits. Throws what ending it gave.
  void remove(Stream& stream);
  /// Ends those whose time has come.
  void sweep();
  /// Covers everything submitted before the call.
  PendingWork pending();

  // -- Lists are used again and end with the process: when one ends, Intel's driver waits for all that its hardware
  // queue has, and that is other streams' work too.
  void keep_list(const IdleList& list) noexcept;
  /// One of that priority; null if there is none.
  IdleList take_list(StreamOrder order, std::int32_t priority) noexcept;

  /// Ends all. Everything is over.
  void close(FirstFailure& failure) noexcept;

  // -- For LegacyTurn.
  /// Whether there is both a null stream and a blocking one.
  bool is_legacy_used() const noexcept {
    return null_stream_.load(std::memory_order_acquire) != nullptr && has_blocking_.load(std::memory_order_acquire);
  }
  std::vector<SignalRef> blocking_markers();

 private:
  friend class LegacyTurn;
  // -- Under the mutex.
  void link(Stream& stream) noexcept;
  void unlink(Stream& stream) noexcept;
  Stream* find_and_share(ze_command_list_handle_t list) noexcept;
  bool is_over(Stream& stream) noexcept;

  Device& device_;
  std::mutex legacy_mutex_;  // guards the order of submissions to the null stream and blocking ones; taken first
  std::atomic<Stream*> null_stream_{nullptr};
  std::atomic<bool> has_blocking_{false};
  std::mutex mutex_;  // guards all below; taken before the streams'
  Stream* first_ = nullptr;
  std::vector<IdleList> idle_lists_;
};

class LegacyTurn {
 public:
  explicit LegacyTurn(Stream& stream);

 private:
  void join_null(Stream& null);
  void join_blocking(Stream& stream, Stream& null);

  std::unique_lock<std::mutex> lock_;
};

}  // namespace anyplace::levelzero
