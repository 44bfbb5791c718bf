// SPDX-License-Identifier: Apache-2.0
//
// Captures: what is submitted to a stream becomes nodes of a graph instead of running.
//
// A capture begins on one stream, its origin. Another stream joins it by waiting for an event that was recorded on a
// stream of the capture, and it has to be waited for, likewise, before the capture ends. Each stream of a capture has a
// front: the nodes that the next one comes after. Recording an event takes a copy of the front, waiting for the event
// adds that to the waiting stream's front; neither makes a node.
//
// Invariant: what isn't allowed while a stream is captured invalidates the capture, with the reason: nothing is left
// out of a graph silently. The streams of an invalidated capture refuse everything until end_capture() is called.
//
// A stream that is captured, an event whose most recent record was captured, and the null stream of a device with a
// blocking stream that is captured take the slow path (set_careful_for in handles/slots.h), so that calls with others
// cost nothing more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "anyplace/graph_types.h"
#include "streams/captured.h"
#include "streams/work.h"

namespace anyplace::detail {

struct BufferState;
struct GraphPoolState;

/// A node, and where its dependencies are in NodeList::dependencies.
struct Node {
  Work work;
  DeviceState* device = nullptr;
  std::uint32_t first_dependency = 0;
  std::uint32_t dependency_count = 0;

  Node(Work&& what, DeviceState& on, std::uint32_t first, std::size_t count) noexcept
      : work(std::move(what)),
        device(&on),
        first_dependency(first),
        dependency_count(static_cast<std::uint32_t>(count)) {}
};

/// An allocation that many nodes have pieces of, which lie behind it; the last of them ends it.
struct alignas(std::max_align_t) NodeChunk {
  const std::size_t size;  ///< bytes behind it
  std::size_t used = 0;
  /// What those nodes need, by its handle: most launches of a graph are of a few kernels.
  std::vector<std::pair<std::uint64_t, std::shared_ptr<const void>>> kept;

  explicit NodeChunk(std::size_t bytes) noexcept : size(bytes) {}
  /// False also if it came long ago.
  bool keeps(std::uint64_t handle) const noexcept;
};

/// Where nodes keep what is too large for them. Guarded as the NodeList that it is in.
class NodeRoom {
 public:
  NodeRoom() = default;
  // A copied list has the pieces of its nodes, and no room of its own.
  NodeRoom(const NodeRoom&) noexcept {}
  NodeRoom& operator=(const NodeRoom&) noexcept {
    chunk_.reset();
    return *this;
  }
  NodeRoom(NodeRoom&&) noexcept = default;
  NodeRoom& operator=(NodeRoom&&) noexcept = default;

  /// Aligned for any type, and as long there as somebody has chunk() of now. Throws bad_alloc.
  std::byte* take(std::size_t bytes);
  /// Of the piece that take() returned last.
  const std::shared_ptr<NodeChunk>& chunk() const noexcept { return chunk_; }

 private:
  std::shared_ptr<NodeChunk> chunk_;
};

/// Nodes in an order in which they may run: each depends on earlier ones alone.
struct NodeList {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> dependencies;
  NodeRoom room;

  /// Returns the number of the new node. Throws bad_alloc, and has then added nothing.
  std::uint32_t add(Work&& work, DeviceState& device, const std::vector<std::uint32_t>& after);
};

/// The nodes that the front comes after, and those in it.
std::vector<bool> reached(const NodeList& list, const std::vector<std::uint32_t>& front);

/// Adds what `more` has and `front` hasn't. Both are short.
void join_fronts(std::vector<std::uint32_t>& front, const std::vector<std::uint32_t>& more);

/// The last one is destroyed outside the lock: nodes own functions of the user's.
struct Capture {
  enum class State { active, invalidated, ended };

  // -- Set once.
  CaptureMode mode = CaptureMode::global;
  std::thread::id owner;
  std::uint64_t origin = 0;       ///< the stream's id; 0: a Graph that is built, which no rule applies to
  DeviceState* device = nullptr;  ///< the origin's

  // -- Guarded by captures().mutex.
  State state = State::active;
  std::string reason;  ///< why it is invalidated
  NodeList list;
  std::vector<Pin<StreamState>> streams;  ///< the origin first
  /// What is allocated on the capture's streams comes from these: one for each device (memory/graph_pool.h).
  std::vector<std::pair<DeviceState*, std::shared_ptr<GraphPoolState>>> pools;
  /// Buffers that were freed meanwhile and that nodes use: a list by BufferState::next.
  BufferState* freed = nullptr;
  /// What the first `looked_at` nodes name, for the question whether a buffer that is freed is among it.
  std::set<anyplace_address> named;
  std::size_t looked_at = 0;
  void (*dispose_freed)(BufferState* freed) noexcept = nullptr;

  Capture() = default;
  Capture(const Capture&) = delete;  // it owns what was freed
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (freed != nullptr) dispose_freed(freed);
  }
};

struct Captures {
  std::mutex mutex;  // guards every Capture, the fronts of streams and events, and `active`; a leaf
  std::vector<std::shared_ptr<Capture>> active;  ///< those that a stream began and didn't end
};
/// Never destroyed.
Captures& captures() noexcept;
/// How many captures there are: 0 nearly always, and then nobody has to take the lock.
extern std::atomic<std::uint32_t> capture_count;
inline bool any_capture() noexcept { return capture_count.load(std::memory_order_relaxed) != 0; }

// -- Beginning and ending.
/// Throws invalid_argument for the null stream, and capturing for a stream that is captured. `pool` may be null.
std::shared_ptr<Capture> begin_capture(StreamState& stream, CaptureMode mode, std::shared_ptr<GraphPoolState> pool,
                                       const char* operation);
/// Ends the capture that began on the stream; its streams are then as they were before. Throws capture_invalidated with
/// the reason, and capturing for a stream that isn't captured, for one that didn't begin it, and on another thread.
std::shared_ptr<Capture> end_capture(StreamState& stream, const char* operation);
CaptureStatus capture_status(const StreamState& stream) noexcept;
/// Whether the calling thread has begun a capture that hasn't ended on a stream of that device; of the backend's any
/// device if `index` is negative.
bool captures_here(const std::string& backend, int index) noexcept;
// -- What is done with streams, on the slow path; captured.h has the rest.
/// Makes a node of it. False if the stream isn't captured.
bool capture_work(StreamState& stream, Work& work, const char* operation);
/// The same with what `make` returns, which is called if the stream is captured: under the captures' lock, with the
/// list that the node will be in.
using MakeNode = Work (*)(NodeList& list, void* context);
bool capture_made(StreamState& stream, MakeNode make, void* context, const char* operation);

/// While it lives, what the calling thread submits isn't captured: a capture that begins in the middle of a launch gets
/// no part of it.
class UncapturedScope {
 public:
  UncapturedScope() noexcept;
  UncapturedScope(const UncapturedScope&) = delete;  // a scope
  UncapturedScope& operator=(const UncapturedScope&) = delete;
  ~UncapturedScope();
};

// -- Building without a stream's capture.
/// A stream of the graph's that makes nodes: what is submitted to it comes after `front` and becomes the front.
void attach_builder(StreamState& stream, std::shared_ptr<Capture> capture) noexcept;
void set_builder_front(StreamState& stream, std::vector<std::uint32_t> front);
std::vector<std::uint32_t> take_builder_front(StreamState& stream);
void detach_builder(StreamState& stream) noexcept;

}  // namespace anyplace::detail
