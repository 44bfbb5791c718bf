// SPDX-License-Identifier: Apache-2.0
//
// Stream: an immediate command list, kept in order. Three ways to do that:
//   in_order  the driver does it (newer than version 1.4 of the API); only what is waited for has a signal;
//   chained   each command waits for the signal of the one before it and has one of its own;
//   adopted   a list of the user's, of which it isn't known how it is ordered: barriers around each command.
//
// Level Zero knows no null stream. The device's default stream and blocking streams are ordered with each other here,
// as CUDA's are: what is submitted to the one waits for what the others have (Legacy in work.h).
//
// Level Zero forbids that two threads use one list at a time, hence the mutex. A Submission holds it for all commands
// of one call: a staged copy is two, and between them nobody else may fill the staging memory.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/backend/abi.h"
#include "device.h"
#include "signal.h"
#include "waiter.h"
#include "work.h"

namespace anyplace::levelzero {

enum class StreamOrder : std::uint8_t { in_order, chained, adopted };
enum class StreamKind : std::uint8_t {
  plain,
  blocking,  ///< synchronises with the null stream
  null,      ///< the device's default stream
};

class Stream {
 public:
  Stream(Device& device, const IdleList& list, StreamKind kind, std::uint64_t cookie) noexcept;
  Stream(const Stream&) = delete;  // handles and Work point at it
  Stream& operator=(const Stream&) = delete;
  /// end() was called.
  ~Stream();
  /// Hands the list on, if it is ours, and ends the staging memory. Nothing runs in it any more.
  ze_result_t end() noexcept;

  Device& device() const noexcept { return device_; }
  ze_command_list_handle_t native() const noexcept { return list_; }
  StreamKind kind() const noexcept { return kind_; }

  /// Holds back what comes later until it is signalled. Of any driver's.
  void wait(const SignalRef& signal);

  /// Signalled when all that was submitted is done. Null if nothing was.
  SignalRef marker();
  /// The same, with the device's time written when it is signalled. Never null.
  SignalRef timestamp();

  bool query();
  /// False when time ran out.
  bool synchronize(std::uint64_t timeout_ns);

  static constexpr std::uint64_t staging_bytes = std::uint64_t{4} << 20;

  // -- For Work.
  /// marker(), without the order between the null stream and blocking ones.
  SignalRef own_marker();
  /// Signals that each must be done before what comes next.
  void wait_own(const std::vector<SignalRef>& signals);
  bool is_adopted() const noexcept { return order_ == StreamOrder::adopted; }
  /// The last marker there was.
  SignalRef last_marker() const;
  /// Whether all that has a signal is done, and nothing without one is left.
  bool is_seen_over();
  std::uint32_t handles = 1;   ///< that the user has of it. Under Work's mutex
  bool retired = false;        ///< has no handle any more, and is not over yet. Likewise
  Stream* next = nullptr;      ///< likewise
  Stream* previous = nullptr;  ///< likewise
  // Under LegacyTurn's mutex.
  SignalRef joined;           ///< of this stream, the last that the null stream waits for
  SignalRef waited_for_null;  ///< of the null stream, the last that this one waits for

 private:
  friend class Submission;
  struct InFlight {
    SignalRef done;
    SignalRef before;             ///< what its command waits for; they stay until it is done
    std::vector<SignalRef> kept;  ///< likewise
  };

  template <class Append>
  void append_locked(const char* call, SignalRef signal, Append&& append);
  void wait_locked(const SignalRef* signals, std::size_t count);
  void wait_for_step(const SignalRef& after);
  std::vector<SignalRef> markers();
  SignalRef marker_locked();
  SignalRef timestamp_locked();
  void add_barrier();
  void forget_what_is_over() noexcept;
  void report_if_let_go(const SignalRef& signal) noexcept;

  Device& device_;
  const ze_command_list_handle_t list_;
  const StreamOrder order_;
  const std::int32_t priority_;
  const StreamKind kind_;
  const std::uint64_t cookie_;
  mutable std::mutex mutex_;  // guards the list and all below; taken after Legacy's and Work's, before SignalPool's
  SignalRef tail_;            ///< signalled by the last command that has a signal
  bool tail_is_last_ = true;  ///< no command comes behind it
  std::deque<InFlight> in_flight_;
  std::vector<SignalRef> kept_;  ///< waited for by commands without a signal; they go with the next marker
  void* staging_ = nullptr;
};

/// What one call of the plugin's submits to a stream: while it lives, no other thread's commands come in between.
class Submission {
 public:
  /// Throws DEVICE_LOST.
  explicit Submission(Stream& stream) : stream_(ready(stream)), turn_(stream), lock_(stream.mutex_) {}
  Submission(const Submission&) = delete;  // it holds the stream
  Submission& operator=(const Submission&) = delete;

  Stream& stream() const noexcept { return stream_; }
  Device& device() const noexcept { return stream_.device_; }
  /// Appends one command: append(list, signal, wait_count, waits) returns what Level Zero did; `call` is its name.
  template <class Append>
  void append(const char* call, Append&& append);
  /// Appends a step that the Waiter does on the host, in its place in the order.
  void append_host_step(Waiter& waiter, Waiter::Step step);
  /// Pinned memory for copies to and from memory that the device can't reach, at least Stream::staging_bytes big. All
  /// submissions of the stream share it: the stream is in order, and each fills it before it empties it.
  void* staging();

 private:
  static Stream& ready(Stream& stream) {
    stream.device_.require();
    return stream;
  }

  Stream& stream_;
  const LegacyTurn turn_;
  const std::lock_guard<std::mutex> lock_;
};

/// Makes a stream of the device. Throws.
Stream* make_stream(Device& device, const anyplace_stream_desc& desc);
Stream* make_null_stream(Device& device, const anyplace_stream_desc& desc);
/// Wraps an immediate command list of the user's. Throws INVALID_ARGUMENT for one that isn't, as far as that can be
/// told.
Stream* adopt_stream(Device& device, std::uint64_t native, const anyplace_stream_desc& desc);

// ---- Inline --------------------------------------------------------------------------------------------------------

template <class Append>
void Submission::append(const char* call, Append&& append) {
  const bool signals = stream_.order_ == StreamOrder::chained;
  stream_.append_locked(call, signals ? device().signals().take() : SignalRef(), append);
}

/// With a signal the command becomes the tail; without one, something comes behind the tail.
template <class Append>
void Stream::append_locked(const char* call, SignalRef signal, Append&& append) {
  const bool has_signal = static_cast<bool>(signal);
  ze_event_handle_t before = nullptr;
  if (order_ == StreamOrder::chained) {
    if (tail_ && !tail_->is_known_complete()) before = tail_->native();
  } else if (order_ == StreamOrder::adopted) {
    add_barrier();
  }
  if (signal) in_flight_.push_back({signal, before != nullptr ? tail_ : SignalRef(), {}});
  const ze_result_t result = append(list_, signal ? signal->native() : nullptr, before != nullptr ? 1u : 0u,
                                    before != nullptr ? &before : nullptr);
  if (result != ZE_RESULT_SUCCESS) [[unlikely]] {
    if (signal) in_flight_.pop_back();
    device_.fail(result, call);
  }
  if (has_signal) {
    in_flight_.back().kept.swap(kept_);
    tail_ = std::move(signal);
    forget_what_is_over();
  }
  tail_is_last_ = has_signal;
}

}  // namespace anyplace::levelzero
