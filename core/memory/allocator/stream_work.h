// SPDX-License-Identifier: Apache-2.0
//
// StreamWork: the streams that have memory of the allocator: whether their work may still use memory that was freed,
// and whether they still exist.
//
// All methods are called under the allocator's lock, which also keeps a stream alive meanwhile: a stream that ends
// calls ends() before the backend's stream is destroyed. The backend's queries and records are called under it.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "streams/event_state.h"

namespace anyplace::detail {

class StreamWork {
 public:
  explicit StreamWork(DeviceState& device) noexcept : device_(device) {}

  /// Adds a stream that has memory from now on; the caller pins it. Throws std::bad_alloc.
  void add(StreamState& stream);
  bool knows(std::uint64_t stream) noexcept { return find(stream) != nullptr; }
  /// Called when memory was freed in the stream's order, so that the stream is no longer known to be idle.
  void given(std::uint64_t stream) noexcept;

  /// Whether all work is complete that was submitted to the stream before memory was last freed. A stream that isn't
  /// known (any more) is idle. It doesn't wait.
  bool idle(std::uint64_t stream) noexcept;
  /// Whether every known stream is idle. `synchronized` says that the device was synchronised after the last of them
  /// had ended.
  bool all_idle(bool synchronized) noexcept;

  /// An event behind the stream's present work, from the pool of events (give_event); null if there can't be one,
  /// because the stream is held or has ended.
  std::unique_ptr<EventState> mark(std::uint64_t stream) noexcept;
  bool is_complete(EventState& event) noexcept;
  /// Makes `user` wait for the present work of `stream`. Returns false if that can't be arranged.
  bool make_wait(StreamState& user, std::uint64_t stream) noexcept;

  /// Called when the backend's stream is about to be destroyed. Puts an event behind its work.
  void ends(StreamState& stream) noexcept;
  /// Returns the streams that ended and whose work is complete, and forgets them.
  std::vector<std::uint64_t> take_over();
  /// Events behind the work of every stream that isn't idle, to be waited for without the lock.
  std::vector<std::unique_ptr<EventState>> busy();
  /// The streams that ended and aren't idle. were_idle() tells that the device was idle since.
  std::vector<std::uint64_t> busy_ended();
  void were_idle(const std::vector<std::uint64_t>& streams) noexcept;
  /// The device was reset, so its streams and events are gone.
  void forget_all() noexcept {
    last_ = nullptr;
    streams_.clear();
  }
  /// Gives the events back, at exit.
  void drop_events() noexcept;

 private:
  struct Stream {
    StreamState* state = nullptr;        ///< null if it has ended
    std::unique_ptr<EventState> behind;  ///< behind the freed memory's work, if `asked`
    bool given = true;                   ///< memory was freed since that was recorded
    bool idle = false;                   ///< whether `behind` was found complete
    bool unmarked = false;               ///< the stream ended, and no event could be put behind its work
  };
  Stream* find(std::uint64_t id) noexcept;  ///< null if it isn't known
  bool record_behind(Stream& stream) noexcept;

  DeviceState& device_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  Stream* last_ = nullptr;  ///< the stream that was found last, one of streams_
  std::uint64_t last_id_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace anyplace::detail
