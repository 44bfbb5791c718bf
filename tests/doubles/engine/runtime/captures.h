// SPDX-License-Identifier: Apache-2.0
//
// Capture of streams into a graph, and what isn't allowed meanwhile. A call that isn't allowed gives its error and
// invalidates the captures that it is about: they still have to be ended, and give no graph.
//
// CUDA's reference calls some calls potentially unsafe while a capture is under way, and names memory allocation as an
// example. Which they are is the double's to say, by name (exports.cpp).
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "graphs.h"

namespace anyplace::doubles {

/// Also of a thread: which captures forbid it unsafe calls. With the numbers of both vendors.
enum class CaptureMode : int { global = 0, own_thread = 1, relaxed = 2 };

struct Capture {
  uint64_t graph = 0;  // its handle, which the program gets at the end
  const Stream* origin = nullptr;
  CaptureMode mode = CaptureMode::global;
  std::thread::id thread;  // that began it
  bool invalidated = false;
  bool ended = false;
  std::vector<StreamRef> streams;  // the origin, and those that joined
};
using CaptureRef = std::shared_ptr<Capture>;

// -- The calls.

int begin_capture(Word stream, int mode);
int end_capture(Word stream, WordOut graph);
/// 0: none, 1: active, 2: invalidated.
int capture_status(Word stream, int& status);
/// The calling thread's mode, exchanged for another.
CaptureMode exchange_thread_mode(CaptureMode mode) noexcept;
template <class Mode>
int exchange_capture_mode(Mode* mode) {
  if (mode == nullptr || static_cast<unsigned>(*mode) > 2) return code::invalid_value;
  *mode = static_cast<Mode>(exchange_thread_mode(static_cast<CaptureMode>(*mode)));
  return 0;
}

// -- What other calls ask. Each is 0 where nothing is captured.

/// The stream is captured: the node that `make` describes goes into the graph instead. nullopt: it isn't captured.
std::optional<int> capture_node(const StreamRef& stream, const std::function<int(NodeWork&)>& make);
/// The stream is captured, and the call can't be.
int refuse_captured(const Locked&, const Stream& stream);
/// The same for all streams of a context.
int refuse_captured(const Locked&, const Context& context);
/// The event's most recent record is in a capture.
int refuse_captured(const Locked&, const Event& event);
/// The legacy stream of a context: others' captures would have to wait for it.
int refuse_legacy(const Locked&, const Context& context);
/// A potentially unsafe call by this thread.
int refuse_unsafe();
/// nullopt: neither has a part in a capture.
std::optional<int> capture_record(const Locked&, const StreamRef& stream, Event& event);
std::optional<int> capture_wait(const Locked&, const StreamRef& stream, const Event& event);
/// The stream is destroyed.
void leave_capture(const Locked&, const Stream& stream);

}  // namespace anyplace::doubles
