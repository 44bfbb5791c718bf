// SPDX-License-Identifier: Apache-2.0
//
// Work: a device's streams, including those that the user destroyed while they had work. Level Zero forbids destroying
// what is in use, so these are ended when their work is done. PendingWork: the work that all streams have at one
// moment.
//
// LegacyTurn: orders one submission between the null stream and blocking streams.
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

/// A command list that this backend made and that no stream uses any more.
struct IdleList {
  ze_command_list_handle_t list = nullptr;
  StreamOrder order{};
  std::int32_t priority = 0;
};

class PendingWork {
 public:
  /// Throws the driver's error for the work, such as DEVICE_LOST.
  bool is_over() const;
  const std::vector<SignalRef>& signals() const noexcept { return signals_; }

 private:
  friend class Work;
  std::vector<SignalRef> signals_;
};

class Work {
 public:
  explicit Work(DeviceBase& device) noexcept : device_(device) {}
  Work(const Work&) = delete;  // streams are linked into it
  Work& operator=(const Work&) = delete;

  void add(Stream& stream) noexcept;
  /// Adds a handle to the stream that has this list. Returns null if there is none.
  Stream* share(ze_command_list_handle_t list) noexcept;
  /// Adds the stream, unless another thread has added one with the same list meanwhile: then adds a handle to that one.
  Stream* add_or_share(std::unique_ptr<Stream> stream) noexcept;
  /// Removes a handle of the stream. After the last one the stream is ended: now if its work is done, otherwise at a
  /// later sweep. Never waits. Throws if ending it fails.
  void remove(Stream& stream);
  /// Ends the retired streams whose work is done.
  void sweep();
  /// Gives the work that covers everything submitted before the call.
  PendingWork pending();

  // -- Lists are reused and destroyed only at exit: when one is destroyed, Intel's driver waits for all work in its
  // hardware queue, including other streams'.
  void keep_list(const IdleList& list) noexcept;
  /// Takes an idle list of that priority; null if there is none.
  IdleList take_list(StreamOrder order, std::int32_t priority) noexcept;

  /// Ends all streams and lists. Called when all work is done.
  void close(FirstFailure& failure) noexcept;

  // -- For LegacyTurn.
  /// Whether there is both a null stream and a blocking one.
  bool is_legacy_used() const noexcept {
    return null_stream_.load(std::memory_order_acquire) != nullptr && has_blocking_.load(std::memory_order_acquire);
  }
  std::vector<SignalRef> blocking_markers();

 private:
  friend class LegacyTurn;
  // -- The mutex is held.
  void link(Stream& stream) noexcept;
  void unlink(Stream& stream) noexcept;
  Stream* find_and_share(ze_command_list_handle_t list) noexcept;
  bool is_over(Stream& stream) noexcept;

  DeviceBase& device_;
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
