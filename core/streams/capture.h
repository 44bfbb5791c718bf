// SPDX-License-Identifier: Apache-2.0
//
// Captures: what is submitted to a stream becomes nodes of a graph instead of running.
//
// A capture begins on one stream, its origin. Another stream joins it by waiting for an event that was recorded on a
// stream of the capture; it has to be waited for in turn before the capture ends. Each stream of a capture has a front:
// the nodes that the next one comes after. Recording an event copies the front of the stream, and waiting for the event
// adds that copy to the waiting stream's front; neither makes a node.
//
// Invariant: a call that isn't allowed while a stream is captured invalidates the capture, with the reason, so that
// nothing is left out of a graph silently. The streams of an invalidated capture refuse everything until end_capture()
// is called.
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
#include "runtime/layer_notes.h"
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

/// An allocation with room behind it, of which many nodes have pieces. It is freed with the last of those nodes.
struct alignas(std::max_align_t) NodeChunk {
  const std::size_t size;  ///< bytes behind it
  std::size_t used = 0;
  /// Objects that those nodes need, by their handles. Nodes share them, because most launches of a graph are of a few
  /// kernels.
  std::vector<std::pair<std::uint64_t, std::shared_ptr<const void>>> kept;

  explicit NodeChunk(std::size_t bytes) noexcept : size(bytes) {}
  /// Whether `kept` has the handle. Only the last few are looked at, so it may be false for one that was added long
  /// ago.
  bool keeps(std::uint64_t handle) const noexcept;
};

/// Memory for the parts of nodes that are too large for a Node. Guarded as the NodeList that it is in.
class NodeRoom {
 public:
  NodeRoom() = default;
  // A copied list shares the pieces of its nodes, and begins without room of its own.
  NodeRoom(const NodeRoom&) noexcept {}
  NodeRoom& operator=(const NodeRoom&) noexcept {
    chunk_.reset();
    return *this;
  }
  NodeRoom(NodeRoom&&) noexcept = default;
  NodeRoom& operator=(NodeRoom&&) noexcept = default;

  /// Returns room that is aligned for any type and exists as long as somebody has the chunk() of now. Throws bad_alloc.
  std::byte* take(std::size_t bytes);
  /// The chunk of the piece that take() returned last.
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

/// Adds the nodes of `more` that `front` hasn't. Both are short.
void join_fronts(std::vector<std::uint32_t>& front, const std::vector<std::uint32_t>& more);

/// A capture and its nodes. The last reference is dropped outside the lock, because nodes own functions of the user's.
struct Capture {
  enum class State { active, invalidated, ended };

  // -- Set once.
  CaptureMode mode = CaptureMode::global;
  std::thread::id owner;
  /// The id of the stream that it began on; 0: a Graph that is built node by node, to which no rule of captures
  /// applies.
  std::uint64_t origin = 0;
  DeviceState* device = nullptr;  ///< the origin's device

  // -- Guarded by captures().mutex.
  State state = State::active;
  std::string reason;  ///< why it was invalidated
  NodeList list;
  std::vector<Pin<StreamState>> streams;  ///< the origin first
  /// Buffers that are allocated on the capture's streams come from these pools, one for each device
  /// (memory/graph_pool.h).
  std::vector<std::pair<DeviceState*, std::shared_ptr<GraphPoolState>>> pools;
  /// Buffers that were freed during the capture and that nodes use: a list linked by BufferState::next.
  BufferState* freed = nullptr;
  /// The addresses that the first `looked_at` nodes name. They tell whether a node uses a buffer that is freed.
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
  std::vector<std::shared_ptr<Capture>> active;  ///< captures that a stream began and didn't end
};
/// The captures of the process; never destroyed.
Captures& captures() noexcept;
/// Whether there may be a capture, or a layer listens. It is nearly always false, and then nobody has to take the lock.
inline bool any_capture() noexcept { return careful_memory.load(std::memory_order_relaxed) != 0; }

// -- Beginning and ending.
/// Throws invalid_argument for the null stream, and capturing for a stream that is captured. `pool` may be null.
std::shared_ptr<Capture> begin_capture(StreamState& stream, CaptureMode mode, std::shared_ptr<GraphPoolState> pool,
                                       const char* operation);
/// Ends the capture that began on the stream; its streams are then as they were before. Throws capture_invalidated with
/// the reason, and capturing for a stream that isn't captured, for one that didn't begin it, and on another thread.
std::shared_ptr<Capture> end_capture(StreamState& stream, const char* operation);
CaptureStatus capture_status(const StreamState& stream) noexcept;
/// Whether the calling thread has begun a capture, which hasn't ended, on a stream of that device, or of any device of
/// the backend if `index` is negative.
bool captures_here(const std::string& backend, int index) noexcept;
// -- Calls with captured streams, on the slow path; captured.h has the rest.
/// Makes a node of the work. False if the stream isn't captured.
bool capture_work(StreamState& stream, Work& work, const char* operation);
/// Makes a node of the Work that `make` returns. If the stream is captured, `make` is called under the captures' lock,
/// with the list that the node will be in. False if the stream isn't captured.
using MakeNode = Work (*)(NodeList& list, void* context);
bool capture_made(StreamState& stream, MakeNode make, void* context, const char* operation);

/// While it lives, submissions of the calling thread aren't captured: a capture that begins in the middle of a launch
/// gets no part of that.
class UncapturedScope {
 public:
  UncapturedScope() noexcept;
  UncapturedScope(const UncapturedScope&) = delete;  // bound to its scope
  UncapturedScope& operator=(const UncapturedScope&) = delete;
  ~UncapturedScope();
};

// -- Building without a stream's capture.
/// Makes `stream`, which belongs to a graph, a builder: submissions to it become nodes, each of which comes after
/// `front` and becomes the front.
void attach_builder(StreamState& stream, std::shared_ptr<Capture> capture) noexcept;
void set_builder_front(StreamState& stream, std::vector<std::uint32_t> front);
std::vector<std::uint32_t> take_builder_front(StreamState& stream);
void detach_builder(StreamState& stream) noexcept;

}  // namespace anyplace::detail
