// SPDX-License-Identifier: Apache-2.0
//
// TracedBackend: a backend below the layer, and the events that time its operations.
//
// An operation is timed by two events of the layer's own, recorded before and after it in its stream. They come from a
// pool of the calling thread's, to which the writer returns them when it has read them.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "record.h"

namespace anyplace::trace {

struct TracedDevice {
  std::int32_t index = -1;
  std::string name;                          // guarded by the backend's mutex
  std::atomic<bool> is_timed{false};         ///< its events measure time, and it isn't lost
  std::atomic<std::uint32_t> generation{0};  ///< counts resets
};

/// Timing events of one device that a thread uses again and again.
struct TimingPool {
  static constexpr std::size_t most = 4096;  ///< pairs that there are of each

  TracedDevice* device = nullptr;
  bool is_owned = true;      // guarded by the backend's mutex
  std::vector<Timing> free;  // the owning thread's alone
  std::size_t made = 0;      // the owning thread's alone

  std::mutex mutex;              // guards returned; a leaf
  std::vector<Timing> returned;  // by the writer

  void give_back(const Timing& timing) noexcept;
};

/// Never destroyed. Any thread may call its functions.
class TracedBackend {
 public:
  TracedBackend(backend::Host host, const anyplace_backend_table& next) : host_(host), next_(next) {}
  TracedBackend(const TracedBackend&) = delete;  // records keep its address
  TracedBackend& operator=(const TracedBackend&) = delete;

  const char* name() const noexcept { return next_.name; }

  // ---- What there is

  void note_properties(std::int32_t device, const anyplace_device_properties& properties);
  /// Whether a device with these properties has virtual time, and a clock that tells it.
  bool has_virtual_time(const anyplace_device_properties& properties) const noexcept;
  /// From now on the trace's time is the device's: as it is, or going on from what the trace's was. Returns that time.
  /// The first such call counts.
  std::uint64_t use_virtual_time(std::int32_t device, bool as_it_is) noexcept;
  /// "cuda:0", and with a blank and the device's own name behind it where that is known.
  std::string device_title(std::int32_t device) const;
  void add_stream(anyplace_stream stream, std::int32_t device);
  void remove_stream(anyplace_stream stream) noexcept;
  /// Changes whenever a stream comes or goes: what is known of streams is asked for again then.
  std::uint64_t streams_version() const noexcept { return streams_version_.load(std::memory_order_acquire); }
  /// A pool for the calling thread to time the stream's operations with; null if they can't be timed. Throws bad_alloc.
  TimingPool* pool_of(anyplace_stream stream, std::vector<TimingPool*>& owned);
  /// Makes the pools free for other threads.
  void release(const std::vector<TimingPool*>& pools) noexcept;

  // ---- Timing an operation, on the thread that owns the pool

  /// Takes a pair of events and records the first. Without one, and where that fails, the operation isn't timed.
  Timing begin_timing(TimingPool& pool, anyplace_stream stream) const noexcept;
  /// Records the second. Returns false, and gives the pair back, if the operation failed or the event can't be
  /// recorded.
  bool end_timing(TimingPool& pool, anyplace_stream stream, const Timing& timing, bool succeeded) const noexcept;

  // ---- Reading the events, on the writer's thread

  enum class Done { no, yes, failed };
  Done is_done(anyplace_event event) const noexcept;
  bool has_clock() const noexcept { return next_.event_timestamp != nullptr && next_.device_clock != nullptr; }
  bool read_clock(std::int32_t device, anyplace_clock& clock) const noexcept;
  /// Whether its devices' clock is virtual, and the trace's time therefore, too.
  bool has_virtual_time() const noexcept;
  /// What is added to that clock's time to make it the trace's.
  std::int64_t virtual_offset_ns() const noexcept { return virtual_offset_ns_; }
  bool timestamp(anyplace_event event, std::uint64_t& nanoseconds) const noexcept;
  bool elapsed(anyplace_event from, anyplace_event to, double& milliseconds) const noexcept;

  // ---- The ends

  /// Waits until the work of all its devices is done. In virtual time a call of it is a part of the schedule.
  void synchronize(std::chrono::nanoseconds limit) const noexcept;

  /// The device was lost: no event of it is touched any more.
  void lose(std::int32_t device) noexcept;
  void lose_device_of(anyplace_stream stream) noexcept;
  /// The device is being reset, which ends its events.
  void reset(std::int32_t device) noexcept;
  /// Ends all timing. Returns when the writer isn't inside a call of the backend.
  void close() noexcept;

  /// The writer holds it while it calls the backend. A leaf.
  std::mutex& calls() noexcept { return calls_; }
  bool is_open() const noexcept { return is_open_.load(std::memory_order_acquire); }

 private:
  friend std::uint64_t now_ns() noexcept;
  Done has_timestamp(anyplace_event event) const noexcept;
  TracedDevice& device_of(std::int32_t device);
  std::uint64_t virtual_now_ns() const noexcept;
  bool make_pair(const TracedDevice& device, Timing& timing) const noexcept;
  bool record(anyplace_event event, anyplace_stream stream) const noexcept;
  void withdraw_message() const noexcept { host_.leave_message(0, nullptr, nullptr); }

  const backend::Host host_;
  const anyplace_backend_table& next_;
  std::atomic<bool> is_open_{true};
  // They are written once, before now_ns() uses them.
  std::int32_t virtual_device_ = -1;
  std::int64_t virtual_offset_ns_ = 0;
  mutable std::atomic<std::uint64_t> last_virtual_ns_{0};  // It stands still once the backend is closed.
  std::mutex calls_;

  std::atomic<std::uint64_t> streams_version_{1};
  mutable std::mutex mutex_;  // guards what follows; a leaf
  std::map<std::int32_t, std::unique_ptr<TracedDevice>> devices_;
  std::map<anyplace_stream, std::int32_t> streams_;
  std::vector<std::unique_ptr<TimingPool>> pools_;
};

}  // namespace anyplace::trace
