// SPDX-License-Identifier: Apache-2.0
//
// The types that streams and graphs both name: how a capture treats other calls, and the kinds of nodes.
#pragma once

#include <cstdint>

namespace anyplace {

/// Which calls are refused while a stream is captured, beside those that concern its own work. Unsafe calls act on a
/// whole device: allocating memory outside the graph's pool, pinning memory, waiting for a device, resetting it.
enum class CaptureMode : std::uint32_t {
  global = 0,         ///< no thread may make unsafe calls
  thread_local_ = 1,  ///< the capturing thread may not make unsafe calls
  relaxed = 2,        ///< every thread may make unsafe calls
};

/// How a stream stands to captures.
enum class CaptureStatus : std::uint32_t {
  none = 0,         ///< it isn't captured
  active = 1,       ///< what is submitted to it becomes nodes
  invalidated = 2,  ///< a call that isn't allowed was made; end_capture() says which
};

/// What a node of a graph does.
enum class GraphNodeKind : std::uint32_t {
  empty = 1,          ///< nothing: it joins what it comes after
  kernel = 2,         ///< launches a kernel
  copy = 3,           ///< copies, on one device or between two that are peers
  memset = 4,         ///< fills memory with an integer
  host_function = 5,  ///< calls a function of the host
  event_record = 6,   ///< records an event
  event_wait = 7,     ///< waits for an event's most recent record
  child_graph = 8,    ///< a whole graph
  staged_copy = 9,    ///< a copy between devices that goes through the host
};

}  // namespace anyplace
