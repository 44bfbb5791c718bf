// SPDX-License-Identifier: Apache-2.0
// The list of deferred frees of each device.
#include "memory/deferred_free.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "memory/buffer_sharing.h"
#include "memory/event_pool.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "runtime/subsystem.h"

namespace anyplace::detail {

namespace {

constexpr const char* operation = "Buffer: freeing memory";

/// The most entries that one allocation or free looks at, so that a long list costs each of them little.
constexpr std::size_t reap_budget = 32;
constexpr std::size_t everything = SIZE_MAX;
/// The most streams that wait_for_deferred_frees() waits for one by one; with more it synchronises the device.
constexpr std::size_t max_ordered_streams = 64;

/// A queue that owns its buffers.
class BufferList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }

  void push(std::unique_ptr<BufferState> buffer) noexcept {
    BufferState* const added = buffer.release();
    added->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = added;
    last_ = added;
    ++size_;
  }
  std::unique_ptr<BufferState> pop() noexcept {
    std::unique_ptr<BufferState> taken(first_);
    first_ = taken->next;
    --size_;
    return taken;
  }
  BufferList take() noexcept { return std::exchange(*this, BufferList()); }

 private:
  BufferState* first_ = nullptr;
  BufferState* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

struct DeferredFrees {
  /// The size of `waiting`. An allocation reads it without the lock and skips an empty list.
  std::atomic<std::size_t> count{0};

  std::mutex mutex;  // guards everything below; a leaf
  std::condition_variable freed;
  BufferList waiting;
  std::size_t freeing = 0;    ///< entries that threads have taken out to look at or to free
  std::size_t looked_at = 0;  ///< those of them whose work no thread waits for
  std::array<std::uint64_t, max_ordered_streams> ordered_streams{};
  std::size_t ordered_count = 0;
  /// Whether memory was freed in the order of more streams than ordered_streams has room for.
  bool ordered_elsewhere = false;
};

DeferredFrees* make_deferred_frees(DeviceState& /*device*/) { return new DeferredFrees; }

namespace {

/// How deep this thread is in reap_without_waiting(): giving memory back may run an application's allocator.
thread_local constinit int looks_here = 0;

/// Called when a device that used the buffer was lost. Its own work is over. But a stream of the buffer's device may
/// make copies for a stream of the lost device (copy_staged.cpp), and those aren't marked.
void note_loss(BufferState& buffer, const DeviceState& lost) noexcept {
  buffer.left_open = buffer.left_open || &lost != buffer.device;
}

/// Records an event behind the stream's work, for the buffer to wait for. Returns false if that failed.
bool mark(BufferState& buffer, StreamState& stream) noexcept {
  DeviceState& device = *stream.device;
  const DropsErrors drops;
  bool marked = false;
  try {
    if (!device.lost.load(std::memory_order_relaxed)) {
      std::unique_ptr<EventState> event = take_event(device);
      record_behind_work(*event, stream, operation);
      buffer.behind.push_back(std::move(event));
      marked = true;
    }
  } catch (const std::exception&) {  // the device may just have been lost
  }
  if (marked || !device.lost.load(std::memory_order_relaxed)) return marked;
  note_loss(buffer, device);
  return true;
}

/// Whether the event is complete, or can't be queried any more because its device is lost.
bool is_past(BufferState& buffer, EventState& event) noexcept {
  const CoreCalls scope;
  const DropsErrors drops;
  const DeviceState& device = *event.device;
  try {
    if (!device.lost.load(std::memory_order_relaxed) && query(event, operation)) return true;
  } catch (const std::exception&) {  // the device may just have been lost
  }
  if (!device.lost.load(std::memory_order_relaxed)) return false;
  note_loss(buffer, device);
  return true;
}

/// Whether everything that was submitted to the device, or is held back for it, is done.
bool has_no_work(DeviceState& device) noexcept {
  const CoreCalls scope;
  const DropsErrors drops;
  try {
    return synchronize(device, 0, operation);
  } catch (const std::exception&) {
    return device.lost.load(std::memory_order_relaxed);
  }
}

bool is_complete(BufferState& buffer) noexcept {
  if (buffer.device->lost.load(std::memory_order_relaxed)) return true;
  if (buffer.unmarked) return false;
  const bool all_past = std::all_of(buffer.behind.begin(), buffer.behind.end(),
                                    [&](const std::unique_ptr<EventState>& event) { return is_past(buffer, *event); });
  return all_past && (!buffer.left_open || has_no_work(*buffer.device));
}

/// Gives memory that nothing uses any more back to its source. The caller holds no lock.
void give_back(std::unique_ptr<BufferState> buffer) noexcept {
  for (std::unique_ptr<EventState>& event : buffer->behind) give_event(std::move(event));
  buffer->behind.clear();
  give_memory_back(std::move(buffer));
}

/// Takes up to `budget` entries from the front of the list. They count in `freeing` until put_back().
BufferList take_out(DeferredFrees& frees, std::size_t budget, bool may_wait) noexcept {
  BufferList taken;
  const std::lock_guard lock(frees.mutex);
  while (taken.size() < budget && !frees.waiting.empty()) taken.push(frees.waiting.pop());
  frees.freeing += taken.size();
  if (!may_wait) frees.looked_at += taken.size();
  frees.count.store(frees.waiting.size(), std::memory_order_relaxed);
  return taken;
}

/// Ends take_out(): unfinished entries go to the end of the list, so that the next call looks at others.
void put_back(DeferredFrees& frees, std::size_t taken, BufferList unfinished, bool may_wait) noexcept {
  const std::lock_guard lock(frees.mutex);
  while (!unfinished.empty()) frees.waiting.push(unfinished.pop());
  frees.count.store(frees.waiting.size(), std::memory_order_relaxed);
  frees.freeing -= taken;
  if (!may_wait) frees.looked_at -= taken;
  frees.freed.notify_all();
}

/// Frees those of the first `budget` entries whose events are complete. If `may_wait` is false, it frees only entries
/// whose free can't synchronise.
void reap(DeviceState& device, std::size_t budget, bool may_wait) noexcept {
  DeferredFrees& frees = *device.deferred_frees;
  if (frees.count.load(std::memory_order_relaxed) == 0) return;
  const bool any = may_wait || device.lost.load(std::memory_order_relaxed);
  BufferList looked_at = take_out(frees, budget, may_wait);
  const std::size_t taken = looked_at.size();
  BufferList unfinished;
  looks_here += may_wait ? 0 : 1;
  while (!looked_at.empty()) {
    std::unique_ptr<BufferState> buffer = looked_at.pop();
    if ((any || !may_wait_to_give_back(buffer->origin)) && is_complete(*buffer)) {
      give_back(std::move(buffer));
    } else {
      unfinished.push(std::move(buffer));
    }
  }
  looks_here -= may_wait ? 0 : 1;
  put_back(frees, taken, unfinished.take(), may_wait);
}

void wait_for_device(DeviceState& device) noexcept {
  if (device.lost.load(std::memory_order_relaxed)) return;
  check_quietly(device.table->device_synchronize(device.self, device.index, ANYPLACE_FOREVER), device, operation);
}

void wait_for(BufferState& buffer) noexcept {
  for (const std::unique_ptr<EventState>& event : buffer.behind) {
    const DropsErrors drops;
    try {
      static_cast<void>(synchronize(*event, ANYPLACE_FOREVER, operation));
    } catch (const std::exception&) {
      // Unless its device was lost, a failure leaves unknown when the work ends.
      if (!is_past(buffer, *event)) buffer.unmarked = true;
    }
  }
  if (buffer.unmarked || buffer.left_open) wait_for_device(*buffer.device);
}

/// Waits for the streams in whose order the backend was told to free memory.
void wait_for_ordered_frees(DeviceState& device) noexcept {
  DeferredFrees& frees = *device.deferred_frees;
  std::array<std::uint64_t, max_ordered_streams> ids;
  std::size_t count = 0;
  bool elsewhere = false;
  {
    const std::lock_guard lock(frees.mutex);
    ids = frees.ordered_streams;
    count = std::exchange(frees.ordered_count, 0);
    elsewhere = std::exchange(frees.ordered_elsewhere, false);
  }
  for (std::size_t i = 0; i < count && !elsewhere; ++i) {
    const Pin<StreamState> stream = streams().try_pin(ids[i]);
    if (!stream) {
      elsewhere = true;  // the stream was destroyed but may still have work
    } else if (!device.lost.load(std::memory_order_relaxed)) {
      check_quietly(device.table->stream_synchronize(device.self, stream->handle, ANYPLACE_FOREVER), device, operation);
    }
  }
  if (elsewhere) wait_for_device(device);
}

}  // namespace

void free_later(std::unique_ptr<BufferState> buffer) noexcept {
  DeviceState& device = *buffer->device;
  const BufferOrigin& origin = buffer->origin;
  if (!follows_stream(origin) && buffer->home && !mark(*buffer, *buffer->home)) buffer->unmarked = true;
  for (Pin<StreamState>& use : buffer->uses) {
    if (!mark(*buffer, *use)) buffer->unmarked = true;
  }
  buffer->uses.clear();
  // These two name the stream when they give the memory back.
  if (!is_freed_in_order(origin) && !is_from<CustomMemory>(origin)) buffer->home.reset();

  DeferredFrees& frees = *device.deferred_frees;
  {
    const std::lock_guard lock(frees.mutex);
    frees.waiting.push(std::move(buffer));
    frees.count.store(frees.waiting.size(), std::memory_order_relaxed);
  }
  if (!in_callback()) reap(device, reap_budget, false);
}

void reap_deferred_frees(DeviceState& device) noexcept { reap(device, reap_budget, true); }

void reap_without_waiting(DeviceState& device) noexcept { reap(device, reap_budget, false); }

void reap_surely_without_waiting(DeviceState& device) noexcept {
  DeferredFrees& frees = *device.deferred_frees;
  for (;;) {
    reap(device, everything, false);
    if (looks_here != 0) return;
    std::unique_lock lock(frees.mutex);
    if (frees.looked_at == 0) return;
    // Another thread may have looked at an entry before its work was done and put it back, so the loop looks again.
    frees.freed.wait(lock, [&] { return frees.looked_at == 0; });
  }
}

void drain_deferred_frees(DeviceState& device) noexcept { reap(device, everything, true); }

bool wait_for_deferred_frees(DeviceState& device) noexcept {
  const CoreCalls scope;
  DeferredFrees& frees = *device.deferred_frees;
  const bool had_kept = keeps_shared_buffers(device);
  if (had_kept) static_cast<void>(collect_shared_buffers(device));
  const auto none = [&] {
    return frees.waiting.empty() && frees.freeing == 0 && frees.ordered_count == 0 && !frees.ordered_elsewhere;
  };
  {
    const std::lock_guard lock(frees.mutex);
    if (none()) return had_kept && !keeps_shared_buffers(device);
  }
  // Another thread may have taken entries out and put them back unfinished, so this is repeated; but not as long as
  // other threads add more.
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    BufferList mine = take_out(frees, everything, true);
    const std::size_t taken = mine.size();
    while (!mine.empty()) {
      std::unique_ptr<BufferState> buffer = mine.pop();
      wait_for(*buffer);
      give_back(std::move(buffer));
    }
    wait_for_ordered_frees(device);
    put_back(frees, taken, BufferList(), true);
    std::unique_lock lock(frees.mutex);
    frees.freed.wait(lock, [&] { return frees.freeing == 0; });
    if (none()) break;
  }
  return true;
}

namespace {

/// Ends graphs and other objects that end later than their owner's destructor. They may in turn post releases, so those
/// are finished last.
bool end_let_go(DeviceState& device, bool wait) noexcept {
  bool any = false;
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->end_let_go != nullptr) any = subsystem->end_let_go(device, wait) || any;
  }
  return finish_releases() || any;
}

}  // namespace

bool wait_for_let_go(DeviceState& device) noexcept {
  const bool any = end_let_go(device, true);
  return wait_for_deferred_frees(device) || any;
}

void end_let_go_without_waiting(DeviceState& device) noexcept {
  static_cast<void>(end_let_go(device, false));
  reap_surely_without_waiting(device);
}

void note_ordered_free(DeviceState& device, std::uint64_t stream_id) noexcept {
  DeferredFrees& frees = *device.deferred_frees;
  const std::lock_guard lock(frees.mutex);
  const auto end = frees.ordered_streams.begin() + static_cast<std::ptrdiff_t>(frees.ordered_count);
  if (std::find(frees.ordered_streams.begin(), end, stream_id) != end) return;
  if (frees.ordered_count == max_ordered_streams) {
    frees.ordered_elsewhere = true;
  } else {
    frees.ordered_streams[frees.ordered_count++] = stream_id;
  }
}

}  // namespace anyplace::detail
