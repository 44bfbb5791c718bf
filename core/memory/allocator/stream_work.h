// SPDX-License-Identifier: Apache-2.0
//
// StreamWork: what the allocator knows of the streams that have memory: whether work of theirs may still use what was
// given back, and whether they are still there.
//
// Everything is called under the allocator's lock, which is also what keeps a stream alive meanwhile: a stream that
// ends says so (ends()) before the backend's stream goes. The backend's queries and records are called under it.
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

  /// The stream has memory from now on. It has a caller's pin. Throws std::bad_alloc.
  void add(StreamState& stream);
  bool knows(std::uint64_t stream) noexcept { return find(stream) != nullptr; }
  /// Memory was given back in the stream's order, so the stream is no longer known to be idle.
  void given(std::uint64_t stream) noexcept;

  /// Whether all work is complete that was submitted to the stream before memory was given back last. A stream that
  /// isn't known, or isn't any more, is idle. Doesn't wait.
  bool idle(std::uint64_t stream) noexcept;
  /// Whether every stream that is known is idle. `synchronized`: the device was waited for after the last of them had
  /// ended.
  bool all_idle(bool synchronized) noexcept;

  /// An event behind the stream's work as it is now, from the pool of events (give_event); null if that can't be had:
  /// the stream is held, or has ended.
  std::unique_ptr<EventState> mark(std::uint64_t stream) noexcept;
  bool is_complete(EventState& event) noexcept;
  /// Makes `user` wait for the work that `stream` has now. False if that can't be arranged.
  bool make_wait(StreamState& user, std::uint64_t stream) noexcept;

  /// The stream's backend stream is about to be destroyed. Puts an event behind its work.
  void ends(StreamState& stream) noexcept;
  /// The streams that ended and whose work is complete; they are forgotten.
  std::vector<std::uint64_t> take_over();
  /// Marks behind the work of every stream that isn't idle, to be waited for without the lock.
  std::vector<std::unique_ptr<EventState>> busy();
  /// The streams that ended and aren't idle. were_idle() says of them that the device was idle since.
  std::vector<std::uint64_t> busy_ended();
  void were_idle(const std::vector<std::uint64_t>& streams) noexcept;
  /// The device was reset, so its streams and events are gone.
  void forget_all() noexcept {
    last_ = nullptr;
    streams_.clear();
  }
  /// Gives the events back, for the exit.
  void drop_events() noexcept;

 private:
  struct Stream {
    StreamState* state = nullptr;        ///< null: it has ended
    std::unique_ptr<EventState> behind;  ///< behind what was given back, if `asked`
    bool given = true;                   ///< memory was given back since that was recorded
    bool idle = false;                   ///< `behind` was found complete
    bool unmarked = false;               ///< it ended, and no event could be put behind its work
  };
  Stream* find(std::uint64_t id) noexcept;  ///< null: it isn't known
  bool record_behind(Stream& stream) noexcept;

  DeviceState& device_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  Stream* last_ = nullptr;  ///< the last that was found, one of streams_
  std::uint64_t last_id_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace anyplace::detail
