// SPDX-License-Identifier: Apache-2.0
#include "captures.h"

#include <algorithm>
#include <set>
#include <utility>

namespace anyplace::doubles {
namespace {

std::atomic<int> captures_under_way{0};  // that most calls need not look further
constinit thread_local CaptureMode mode_of_thread __attribute__((tls_model("initial-exec"))) =
    CaptureMode::global;  // see life.cpp

/// Guarded by State::mutex.
std::vector<CaptureRef>& all_captures() {
  static auto& all = *new std::vector<CaptureRef>;
  return all;
}

int invalidate(Capture& capture, int code) {
  capture.invalidated = true;
  return code;
}

bool is_capturing(const Stream& stream) { return stream.capture != nullptr; }

/// All streams leave; the graph stays if it is whole.
void end(Capture& capture, bool keep_graph) {
  capture.ended = true;
  for (const StreamRef& stream : capture.streams) {
    stream->capture = nullptr;
    stream->captured_after.clear();
  }
  capture.streams.clear();
  if (!keep_graph) {
    if (const auto graph = state().graphs.find(capture.graph)) {
      for (const GraphNodeRef& node : graph->nodes) state().graph_nodes.remove(node->handle);
      state().graphs.remove(capture.graph);
    }
  }
  std::erase_if(all_captures(), [&capture](const CaptureRef& each) { return each.get() == &capture; });
  --captures_under_way;
}

/// Whether all that the other streams captured comes before what the origin captured last.
bool is_joined(const Capture& capture) {
  std::set<uint64_t> before;
  std::vector<uint64_t> next = capture.origin->captured_after;
  while (!next.empty()) {
    const uint64_t handle = next.back();
    next.pop_back();
    if (!before.insert(handle).second) continue;
    if (const auto node = state().graph_nodes.find(handle))
      next.insert(next.end(), node->after.begin(), node->after.end());
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&before](const StreamRef& stream) {
    const auto& last = stream->captured_after;
    return std::all_of(last.begin(), last.end(), [&before](uint64_t handle) { return before.count(handle) != 0; });
  });
}

void add_once(std::vector<uint64_t>& to, const std::vector<uint64_t>& more) {
  for (const uint64_t handle : more) {
    if (std::find(to.begin(), to.end(), handle) == to.end()) to.push_back(handle);
  }
}

bool forbids(const Capture& capture, std::thread::id thread, CaptureMode mode) {
  if (mode == CaptureMode::relaxed || capture.mode == CaptureMode::relaxed) return false;
  if (capture.thread == thread) return true;
  return mode == CaptureMode::global && capture.mode == CaptureMode::global;
}

}  // namespace

int begin_capture(Word stream, int mode) {
  if (mode < 0 || mode > 2) return code::invalid_value;
  if (special_stream(stream) == SpecialStream::legacy) return code::capture_unsupported;
  StreamRef found;
  if (const int result = resolve_stream(stream, found); result != 0) return result;
  uint64_t graph = 0;
  if (const int result = create_graph(&graph, 0); result != 0) return result;
  const Locked lock(state().mutex);
  if (is_capturing(*found)) {
    state().graphs.remove(graph);
    return invalidate(*found->capture, code::illegal_state);
  }
  auto made = std::make_shared<Capture>();
  made->graph = graph;
  made->origin = found.get();
  made->mode = static_cast<CaptureMode>(mode);
  made->thread = std::this_thread::get_id();
  made->streams.push_back(found);
  found->capture = made;
  all_captures().push_back(made);
  ++captures_under_way;
  return 0;
}

int end_capture(Word stream, WordOut graph) {
  if (graph.is_null()) return code::invalid_value;
  if (special_stream(stream) == SpecialStream::legacy) return code::capture_unsupported;
  StreamRef found;
  if (const int result = resolve_stream(stream, found); result != 0) return result;
  const Locked lock(state().mutex);
  const CaptureRef capture = found->capture;
  if (capture == nullptr) return code::illegal_state;
  if (capture->origin != found.get()) return invalidate(*capture, code::capture_unmatched);
  if (capture->mode != CaptureMode::relaxed && capture->thread != std::this_thread::get_id()) {
    return invalidate(*capture, code::capture_wrong_thread);
  }
  int result = 0;
  if (capture->invalidated) {
    result = code::capture_invalidated;
  } else if (!is_joined(*capture)) {
    result = code::capture_unjoined;
  }
  end(*capture, result == 0);
  graph.write(result == 0 ? capture->graph : 0);
  return result;
}

int capture_status(Word stream, int& status) {
  if (special_stream(stream) == SpecialStream::legacy) {
    ContextRef context;
    if (const int result = current_context(context); result != 0) return result;
    const Locked lock(state().mutex);
    const auto& all = context->streams;
    const bool any = std::any_of(all.begin(), all.end(),
                                 [](const StreamRef& each) { return each->blocking() && is_capturing(*each); });
    return any ? code::capture_implicit : 0;  // and invalidates nothing
  }
  StreamRef found;
  if (const int result = resolve_stream(stream, found); result != 0) return result;
  const Locked lock(state().mutex);
  status = !is_capturing(*found) ? 0 : found->capture->invalidated ? 2 : 1;
  return 0;
}

CaptureMode exchange_thread_mode(CaptureMode mode) noexcept { return std::exchange(mode_of_thread, mode); }

std::optional<int> capture_node(const StreamRef& stream, const std::function<int(NodeWork&)>& make) {
  if (captures_under_way == 0) return std::nullopt;
  CaptureRef capture;
  std::vector<uint64_t> after;
  {
    const Locked lock(state().mutex);
    if (!is_capturing(*stream)) return std::nullopt;
    capture = stream->capture;
    if (capture->invalidated) return code::capture_invalidated;
    after = stream->captured_after;
  }
  NodeWork work;
  uint64_t node = 0;
  int result = make(work);
  if (result == 0) result = add_node(&node, capture->graph, {after.data(), after.size()}, std::move(work));
  const Locked lock(state().mutex);
  if (result != 0) return invalidate(*capture, result);
  stream->captured_after = {node};
  return 0;
}

int refuse_captured(const Locked&, const Stream& stream) {
  return is_capturing(stream) ? invalidate(*stream.capture, code::capture_unsupported) : 0;
}

int refuse_captured(const Locked& lock, const Context& context) {
  int result = 0;
  for (const StreamRef& stream : context.streams) {
    if (const int refused = refuse_captured(lock, *stream); refused != 0) result = refused;
  }
  return result;
}

int refuse_captured(const Locked&, const Event& event) {
  return event.capture == nullptr ? 0 : invalidate(*event.capture, code::captured_event);
}

int refuse_legacy(const Locked&, const Context& context) {
  if (captures_under_way == 0) return 0;
  int result = 0;
  for (const StreamRef& stream : context.streams) {
    if (stream->blocking() && is_capturing(*stream)) result = invalidate(*stream->capture, code::capture_implicit);
  }
  return result;
}

int refuse_unsafe() {
  if (captures_under_way == 0) return 0;
  const Locked lock(state().mutex);
  int result = 0;
  for (const CaptureRef& capture : all_captures()) {
    if (!forbids(*capture, std::this_thread::get_id(), mode_of_thread)) continue;
    result = invalidate(*capture, code::capture_unsupported);
  }
  return result;
}

std::optional<int> capture_record(const Locked&, const StreamRef& stream, Event& event) {
  event.capture = stream->capture;
  event.captured_after = stream->captured_after;
  if (!is_capturing(*stream)) return std::nullopt;
  return stream->capture->invalidated ? code::capture_invalidated : 0;
}

std::optional<int> capture_wait(const Locked&, const StreamRef& stream, const Event& event) {
  const bool captured = event.capture != nullptr;
  if (!captured && !is_capturing(*stream)) return std::nullopt;
  if (!captured) {
    if (event.record == nullptr) return 0;  // never recorded: no wait
    return invalidate(*stream->capture, code::capture_isolation);
  }
  if (event.capture->ended) return code::captured_event;
  if (is_capturing(*stream) && stream->capture != event.capture) {
    event.capture->invalidated = true;
    return invalidate(*stream->capture, code::capture_merge);
  }
  if (event.capture->invalidated) return code::capture_invalidated;
  if (stream == stream->context->legacy) return invalidate(*event.capture, code::capture_implicit);
  if (!is_capturing(*stream)) {
    stream->capture = event.capture;
    event.capture->streams.push_back(stream);
  }
  add_once(stream->captured_after, event.captured_after);
  return 0;
}

void leave_capture(const Locked&, const Stream& stream) {
  if (!is_capturing(stream)) return;
  const CaptureRef capture = stream.capture;
  if (capture->origin == &stream) {
    end(*capture, false);
    return;
  }
  capture->invalidated = true;
  std::erase_if(capture->streams, [&stream](const StreamRef& each) { return each.get() == &stream; });
}

}  // namespace anyplace::doubles
