// SPDX-License-Identifier: Apache-2.0
//
// Stream: an immediate command list whose commands are kept in order, in one of three ways:
//   in_order  the driver keeps the order (newer than version 1.4 of the API); only commands that are waited for have a
//             signal;
//   chained   each command waits for the signal of the one before it and has one of its own;
//   adopted   the list is the user's, and its order isn't known, so there are barriers around each command.
//
// Level Zero has no null stream. This backend orders the device's default stream and its blocking streams with each
// other as CUDA does: a submission to the one waits for the others' earlier work (LegacyTurn in work.h).
//
// Level Zero forbids that two threads use one list at the same time, hence the mutex. A Submission holds it for all
// commands of one call: a staged copy has two, and no other thread may fill the staging memory between them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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
  /// end() must have been called.
  ~Stream();
  /// Gives the list to Work for reuse, if this backend made it, and frees the staging memory. Called when nothing runs
  /// in the stream any more.
  ze_result_t end() noexcept;

  Device& device() const noexcept { return device_; }
  ze_command_list_handle_t native() const noexcept { return list_; }
  StreamKind kind() const noexcept { return kind_; }
  std::uint64_t cookie() const noexcept { return cookie_; }

  // -- These throw.
  static Stream* make(Device& device, const anyplace_stream_desc& desc);
  static Stream* make_null(Device& device, const anyplace_stream_desc& desc);
  /// Wraps an immediate command list of the user's. Throws INVALID_ARGUMENT if the handle is found not to be one.
  static Stream* adopt(Device& device, std::uint64_t native, const anyplace_stream_desc& desc);
  /// Does what Work::remove does.
  void destroy() { device_.work().remove(*this); }

  /// Makes later commands wait for the signal, which may be of any driver.
  void wait(const SignalRef& signal);
  /// Makes later commands wait for a signal that the host will signal. `begin` arranges that afterwards; if it throws,
  /// the signal is signalled at once.
  void wait_for_host(const SignalRef& signal, const std::function<void()>& begin);

  void launch_host_function(anyplace_host_function function, void* user);

  /// A signal that is signalled when everything submitted so far is done. Null if nothing was submitted.
  SignalRef marker();
  /// A marker with which the device's time is written. Never null.
  SignalRef timestamp();

  bool query();
  /// Returns false when time ran out.
  bool synchronize(std::uint64_t timeout_ns);

  static constexpr std::uint64_t staging_bytes = std::uint64_t{4} << 20;

  // -- For Work.
  /// Like marker(), but without the order between the null stream and blocking ones.
  SignalRef own_marker();
  /// Makes later commands wait for all these signals.
  void wait_own(const std::vector<SignalRef>& signals);
  bool is_adopted() const noexcept { return order_ == StreamOrder::adopted; }
  /// The marker that was made last.
  SignalRef last_marker() const;
  /// Whether all commands with a signal are done and there is none without a signal behind them.
  bool is_seen_over();
  std::uint32_t handles = 1;   ///< how many the user has; guarded by Work's mutex
  bool retired = false;        ///< whether it has no handle any more but still work; guarded by Work's mutex
  Stream* next = nullptr;      ///< guarded by Work's mutex
  Stream* previous = nullptr;  ///< guarded by Work's mutex
  // Guarded by Work's legacy_mutex_.
  SignalRef joined;           ///< the last marker of this stream that the null stream waits for
  SignalRef waited_for_null;  ///< the last marker of the null stream that this stream waits for

 private:
  friend class Submission;
  struct InFlight {
    SignalRef done;
    SignalRef before;             ///< signals that its command waits for, kept until it is done
    std::vector<SignalRef> kept;  ///< more of those signals
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
  void report_if_released(const SignalRef& signal) noexcept;

  Device& device_;
  const ze_command_list_handle_t list_;
  const StreamOrder order_;
  const std::int32_t priority_;
  const StreamKind kind_;
  const std::uint64_t cookie_;
  mutable std::mutex mutex_;  // guards the list and all below; taken after Work's two, before SignalPool's
  SignalRef tail_;            ///< the signal of the last command that has one
  bool tail_is_last_ = true;  ///< whether no command is behind that one
  std::deque<InFlight> in_flight_;
  /// Signals that commands without a signal wait for; kept until the next marker is done.
  std::vector<SignalRef> kept_;
  void* staging_ = nullptr;
};

/// Everything that one call submits to a stream. While it lives, no other thread can submit to the stream.
class Submission {
 public:
  /// Throws DEVICE_LOST if the device is lost.
  explicit Submission(Stream& stream) : stream_(ready(stream)), turn_(stream), lock_(stream.mutex_) {}
  Submission(const Submission&) = delete;  // it holds the stream
  Submission& operator=(const Submission&) = delete;

  Stream& stream() const noexcept { return stream_; }
  Device& device() const noexcept { return stream_.device_; }
  /// Appends one command: append(list, signal, wait_count, waits) returns what Level Zero did; `call` is its name.
  template <class Append>
  void append(const char* call, Append&& append);
  /// Like append(), and in every stream the command gets a signal of its own, which is returned.
  template <class Append>
  SignalRef append_marked(const char* call, Append&& append);
  /// Appends a step that the Waiter runs on the host, in the stream's order.
  void append_host_step(Waiter& waiter, Waiter::Step step);
  /// Pinned memory of at least Stream::staging_bytes, for copies to and from memory that the device can't reach. All
  /// submissions of the stream share it: the stream is in order, and each copy fills it before it empties it.
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

// ---- Inline --------------------------------------------------------------------------------------------------------

template <class Append>
void Submission::append(const char* call, Append&& append) {
  const bool signals = stream_.order_ == StreamOrder::chained;
  stream_.append_locked(call, signals ? device().signals().take() : SignalRef(), append);
}

template <class Append>
SignalRef Submission::append_marked(const char* call, Append&& append) {
  SignalRef signal = device().signals().take();
  stream_.append_locked(call, signal, append);
  return signal;
}

/// A command with a signal becomes the tail. After one without a signal, the tail is no longer the last command.
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
