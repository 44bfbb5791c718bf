// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "anyplace/graph.h"
#include "graphs/graph_state.h"
#include "streams/hold.h"

namespace anyplace {

namespace detail {

GraphExecState::GraphExecState(std::shared_ptr<const GraphContent> flat, bool native_if_possible, const char* operation)
    : device(flat->device),
      content(std::move(flat)),
      may_be_native(native_if_possible),
      native(may_be_native ? NativeGraph::make(content, operation) : nullptr),
      done(make_event(*device, 0, operation)) {
  if (native == nullptr && !content->list.nodes.empty()) replay = std::make_unique<Replay>(*content, operation);
}

// ---- Launching -----------------------------------------------------------------------------------------------------
namespace {

template <class Visit>
void for_each_event(const GraphContent& content, Visit&& visit) {
  for (const Node& node : content.list.nodes) {
    if (const auto* recorded = std::get_if<RecordWork>(&node.work)) visit(**recorded->event, true);
    if (const auto* waited = std::get_if<WaitWork>(&node.work)) visit(**waited->event, false);
  }
}

bool has_events(const GraphContent& content) noexcept {
  bool found = false;
  for_each_event(content, [&](EventState&, bool) { found = true; });
  return found;
}

/// Events whose most recent record is held back, or was captured, aren't what the backend's handle says: the core
/// waits.
bool needs_care(const GraphContent& content) noexcept {
  bool found = false;
  for_each_event(content, [&](const EventState& event, bool) {
    found = found || event.care_for.load(std::memory_order_acquire) != 0;
  });
  return found;
}

/// False if it has to be replayed this time.
bool launch_native(GraphExecState& exec, StreamState& stream, const char* operation) {
  if (exec.native == nullptr) return false;
  const bool events = has_events(*exec.content);
  if (stream.held.load(std::memory_order_acquire)) {
    if (events) return false;
    if (hold_back(stream, [native = exec.native, &stream] { return native->launch_later(stream); })) return true;
  }
  if (events && needs_care(*exec.content)) return false;
  exec.native->launch(stream, operation);
  if (events) {
    for_each_event(*exec.content, [](EventState& event, bool recorded) {
      if (recorded) note_plain_record(event);
    });
  }
  return true;
}

/// The launch is behind the one before, and `done` behind it.
void mark(GraphExecState& exec, const Pin<StreamState>& stream, const char* operation) {
  exec.last = streams().pin_again(stream->id, operation);
  exec.unmarked = true;
  record(*exec.done, *stream, operation);
  exec.unmarked = false;
}

bool is_finished(GraphExecState& exec) noexcept {
  if (!exec.last || exec.device->lost.load(std::memory_order_relaxed)) return true;
  if (exec.unmarked) return is_surely_idle(*exec.last, "~GraphExec");
  try {
    return query(*exec.done, "~GraphExec");
  } catch (const std::exception&) {
    static_cast<void>(take_message());
    return exec.device->lost.load(std::memory_order_relaxed);
  }
}

void drop_former(GraphExecState& exec) noexcept {
  if (!exec.former.empty() && is_finished(exec)) exec.former.clear();
}

}  // namespace

void launch(const std::shared_ptr<GraphExecState>& exec, const Pin<StreamState>& stream, const char* operation) {
  DeviceState& device = *exec->device;
  require_usable(device, operation);
  if (stream->device != &device) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format(
             "the graph is of {}, and the stream is of {}\nlaunch it on a stream of its own device, or capture it "
             "there\nsee docs/graphs.md",
             device.place, stream->device->place));
  }
  const std::lock_guard lock(exec->mutex);
  if (stream->captured.load(std::memory_order_acquire)) {
    return divert(*stream, ChildWork{exec->content}, operation);
  }
  refuse_if_captured(*stream, operation);
  if (exec->content->list.nodes.empty()) return;
  if (exec->last && exec->last.get() != stream.get()) {
    if (exec->unmarked) {
      record(*exec->done, *exec->last, operation);
      exec->unmarked = false;
    }
    wait(*stream, *exec->done, operation);
  }
  try {
    if (!launch_native(*exec, *stream, operation)) {
      if (exec->replay == nullptr) exec->replay = std::make_unique<Replay>(*exec->content, operation);
      exec->replay->launch(*exec->content, *stream, operation);
    }
  } catch (...) {
    // A part of it may have been submitted.
    exec->last = streams().pin_again(stream->id, operation);
    exec->unmarked = true;
    throw;
  }
  mark(*exec, stream, operation);
}

// ---- Updating ------------------------------------------------------------------------------------------------------
namespace {

[[noreturn]] void refuse_update(const GraphExecState& exec, const std::string& problem, const char* operation) {
  fail(ErrorCode::invalid_argument, exec.device->place, operation,
       problem +
           "\nan update changes what nodes do, not which there are: instantiate the graph again\nsee docs/graphs.md");
}

void require_alike(const GraphExecState& exec, const GraphContent& next, const char* operation) {
  const NodeList& old_list = exec.content->list;
  const NodeList& new_list = next.list;
  if (next.device != exec.device) {
    refuse_update(
        exec, fmt::format("the graph is of {}, and the executable one of {}", next.device->place, exec.device->place),
        operation);
  }
  const std::size_t common = std::min(old_list.nodes.size(), new_list.nodes.size());
  for (std::size_t i = 0; i < common; ++i) {
    const Node& was = old_list.nodes[i];
    const Node& is = new_list.nodes[i];
    if (was.work.index() != is.work.index()) {
      refuse_update(exec,
                    fmt::format("node {} is a {} node, and was a {} node", i, name_of_kind(kind_of(is.work)),
                                name_of_kind(kind_of(was.work))),
                    operation);
    }
    if (was.device != is.device) {
      refuse_update(exec, fmt::format("node {} is on {}, and was on {}", i, is.device->place, was.device->place),
                    operation);
    }
    const auto dependencies = [](const NodeList& list, const Node& node) {
      std::vector<std::uint32_t> all(list.dependencies.begin() + node.first_dependency,
                                     list.dependencies.begin() + node.first_dependency + node.dependency_count);
      std::sort(all.begin(), all.end());
      return all;
    };
    if (dependencies(old_list, was) != dependencies(new_list, is)) {
      refuse_update(
          exec,
          fmt::format("node {} comes after nodes {}, and came after nodes {}", i,
                      fmt::join(dependencies(new_list, is), ", "), fmt::join(dependencies(old_list, was), ", ")),
          operation);
    }
  }
  if (old_list.nodes.size() != new_list.nodes.size()) {
    refuse_update(
        exec,
        fmt::format("the graph has {} nodes, and the executable one {}: node {} is the first that one of them "
                    "lacks",
                    new_list.nodes.size(), old_list.nodes.size(), common),
        operation);
  }
}

}  // namespace

void update(GraphExecState& exec, std::shared_ptr<const GraphContent> flat, const char* operation) {
  require_usable(*exec.device, operation);
  const std::lock_guard lock(exec.mutex);
  require_alike(exec, *flat, operation);
  drop_former(exec);
  exec.former.reserve(exec.former.size() + 2);
  if (exec.native == nullptr || !exec.native->update(flat, operation)) {
    std::shared_ptr<NativeGraph> made = exec.may_be_native ? NativeGraph::make(flat, operation) : nullptr;
    if (exec.native != nullptr) exec.former.push_back(std::move(exec.native));
    exec.native = std::move(made);
  }
  exec.former.push_back(std::exchange(exec.content, std::move(flat)));
}

// ---- The end -------------------------------------------------------------------------------------------------------

void retire(std::shared_ptr<GraphExecState> exec) noexcept {
  if (exec == nullptr) return;
  if (!process_running()) return leak(std::move(exec));
  if (!in_callback() && is_finished(*exec)) return;
  // The closure that is handed over is a pointer: it owns the state.
  auto* const kept = new (std::nothrow) std::shared_ptr<GraphExecState>(exec);
  if (kept == nullptr) return leak(std::move(exec));
  poll_in_service([kept]() noexcept {
    if (!is_finished(**kept)) return false;
    post_to_service([kept] { delete kept; });
    return true;
  });
}

}  // namespace detail

// ---- The public face -----------------------------------------------------------------------------------------------

namespace {

detail::GraphExecState& state_of_exec(const std::shared_ptr<detail::GraphExecState>& state, const char* operation) {
  detail::enter(operation);
  if (state == nullptr) {
    detail::fail(ErrorCode::invalid_handle, "", operation,
                 "the executable graph is null\nit was never made, or was moved from");
  }
  return *state;
}

}  // namespace

GraphExec Graph::instantiate(GraphExecOptions options) const {
  constexpr const char* operation = "Graph::instantiate";
  detail::GraphState& state = detail::state_of(state_, operation);
  detail::require_usable(*state.device, operation);
  std::shared_ptr<const detail::GraphContent> flat;
  {
    const std::lock_guard lock(state.mutex);
    flat = detail::flatten(state.content());
  }
  GraphExec exec;
  exec.state_ = std::make_shared<detail::GraphExecState>(std::move(flat), options.native, operation);
  return exec;
}

GraphExec::GraphExec(GraphExec&&) noexcept = default;

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
  if (this != &other) detail::retire(std::exchange(state_, std::exchange(other.state_, nullptr)));
  return *this;
}

GraphExec::~GraphExec() { detail::retire(std::move(state_)); }

Device GraphExec::device() const { return Device(state_of_exec(state_, "GraphExec::device").device); }

bool GraphExec::is_native() const {
  detail::GraphExecState& state = state_of_exec(state_, "GraphExec::is_native");
  const std::lock_guard lock(state.mutex);
  return state.native != nullptr;
}

std::size_t GraphExec::size() const {
  detail::GraphExecState& state = state_of_exec(state_, "GraphExec::size");
  const std::lock_guard lock(state.mutex);
  return state.content->list.nodes.size();
}

void GraphExec::launch(const StreamView& stream) const {
  constexpr const char* operation = "GraphExec::launch";
  state_of_exec(state_, operation);
  detail::launch(state_, detail::streams().pin(stream.id(), operation), operation);
}

void GraphExec::update(const Graph& graph) const {
  constexpr const char* operation = "GraphExec::update";
  detail::GraphExecState& state = state_of_exec(state_, operation);
  detail::GraphState& next = detail::state_of(graph.state_, operation);
  std::shared_ptr<const detail::GraphContent> flat;
  {
    const std::lock_guard lock(next.mutex);
    flat = detail::flatten(next.content());
  }
  detail::update(state, std::move(flat), operation);
}

}  // namespace anyplace
