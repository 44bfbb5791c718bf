// SPDX-License-Identifier: Apache-2.0
//
// Work: what was submitted to a device and may not be over: its streams, and what destroyed streams left behind. HIP
// waits for a device without a limit only; with this a wait can have one, a module can be unloaded when nothing that
// was queued needs it, and a stream can be destroyed when its work is over: hipStreamDestroy waits for it, so a stream
// that ends while work is pending is retired, and the Watcher destroys it.
//
// Invariant: what pending() returns covers everything submitted before it was called.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "event.h"

namespace anyplace::hip {

/// A list through the streams themselves, so that joining and leaving it allocates nothing.
struct StreamLinks {
  Stream* next = nullptr;
  Stream* previous = nullptr;
};

/// A stream of ours whose handle is gone: nothing is submitted to it any more, so asking it says whether its work is
/// over. Destroys it.
class RetiredStream {
 public:
  RetiredStream(Device& device, hipStream_t native) noexcept : device_(device), native_(native) {}
  RetiredStream(const RetiredStream&) = delete;  // it owns the stream
  RetiredStream& operator=(const RetiredStream&) = delete;
  ~RetiredStream();

  bool is_over() const;

 private:
  Device& device_;
  const hipStream_t native_;
};

class PendingWork {
 public:
  /// Throws what HIP says of the work, DEVICE_LOST for one; other failures only when they come again and again.
  bool is_over() const;

 private:
  friend class Work;
  static constexpr unsigned patience = 8;

  bool ask() const;

  mutable unsigned failures_ = 0;
  std::vector<std::shared_ptr<Marker>> markers_;
  std::vector<std::shared_ptr<RetiredStream>> retired_;
  /// Whose null stream is asked as it is then: a marker in it would order the other streams, and wait for them.
  Device* null_stream_of_ = nullptr;
};

class Work {
 public:
  explicit Work(Device& device) noexcept : device_(device) {}
  Work(const Work&) = delete;  // streams are linked into it
  Work& operator=(const Work&) = delete;

  void add(Stream& stream) noexcept;
  /// For a stream that was added and whose handle ends. True: it is ours and its work isn't over, so the
  /// hipStream_t is kept until then. The stream is out of the list in any case.
  bool remove(Stream& stream);
  PendingWork pending();
  /// Whether everything is over now. Leaves the streams as they are, where pending() marks them, so that who looks at a
  /// stream meanwhile finds nothing in it that isn't its own.
  bool is_idle();
  /// Of what is in the stream now. Null if that is over. Not for the null stream, which it would let the others wait
  /// for.
  std::shared_ptr<Marker> mark(const Stream& stream);
  /// Destroys the retired streams whose work is over, and lets go of the markers.
  void sweep() noexcept;
  bool any_retired() const noexcept { return retired_count_.load(std::memory_order_acquire) != 0; }
  /// Lets go of all, and destroys what streams of ours there still are. Everything is over.
  /// The first failure to destroy a stream, also of a retired one earlier.
  hipError_t close() noexcept;
  hipError_t failure() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Of destroying a retired stream: it is no failure of whoever happens to do it, so close() tells.
  void note_failure(hipError_t result) noexcept;

 private:
  using RetiredStreams = std::vector<std::shared_ptr<RetiredStream>>;

  /// What is over goes out of the lists; the streams are the caller's to let go of without the mutex.
  RetiredStreams take_what_is_over();

  Device& device_;
  std::atomic<std::size_t> retired_count_{0};
  std::atomic<hipError_t> failed_{hipSuccess};
  std::mutex mutex_;  // guards all below; taken before EventPool's. Under it only calls that don't wait are made
  Stream* first_ = nullptr;
  bool null_stream_used_ = false;
  RetiredStreams retired_;
  std::vector<std::shared_ptr<Marker>> left_behind_;  ///< of the streams of others
};

}  // namespace anyplace::hip
