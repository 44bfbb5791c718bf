// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_exec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "anyplace/graph.h"
#include "graphs/draws.h"
#include "graphs/graph_state.h"
#include "graphs/live_graphs.h"
#include "graphs/retired_graphs.h"
#include "plugins/device_properties.h"
#include "streams/hold.h"

namespace anyplace {

namespace detail {

GraphExecState::GraphExecState(std::shared_ptr<const GraphContent> flat, bool native_if_possible, const char* operation)
    : device(flat->device),
      content(std::move(flat)),
      may_be_native(native_if_possible),
      native(may_be_native ? NativeGraph::make(content, fault_stream, operation) : nullptr),
      done(make_event(*device, 0, operation)) {
  if (native == nullptr && !content->list.nodes.empty()) replay = std::make_unique<Replay>(*content, operation);
}

// ---- Launching -----------------------------------------------------------------------------------------------------
namespace {

/// Whether an event's most recent record is held back or was captured. The backend's event isn't that record then, so
/// the graph has to be replayed, in which the core does the waiting.
bool needs_care(const GraphContent& content) noexcept {
  const auto is_careful = [](const EventState* event) { return event->care_for.load(std::memory_order_acquire) != 0; };
  return std::any_of(content.recorded.begin(), content.recorded.end(), is_careful) ||
         std::any_of(content.waited.begin(), content.waited.end(), is_careful);
}

/// Launches the backend's graph. False if the graph has to be replayed this time.
bool launch_native(GraphExecState& exec, StreamState& stream, const char* operation) {
  if (exec.native == nullptr) return false;
  const GraphContent& content = *exec.content;
  const bool events = !content.recorded.empty() || !content.waited.empty();
  if (stream.held.load(std::memory_order_acquire)) {
    if (events) return false;
    const auto later = [native = exec.native, &stream, kept = exec.native->held_back()] {
      return native->launch_later(stream);
    };
    if (hold_back(stream, later)) return true;
  }
  if (events && needs_care(content)) return false;
  exec.native->launch(stream, operation);
  for (EventState* const event : content.recorded) note_plain_record(*event);
  return true;
}

/// The event to record behind the next launch. It is a new one if replaced work still has `done`.
std::shared_ptr<EventState> next_done(const GraphExecState& exec, const char* operation) {
  if (exec.done.use_count() == 1) return exec.done;
  return make_event(*exec.device, 0, operation);
}

/// Records `done` behind the launch. As each launch is behind the one before, `done` is behind all of them.
void mark(GraphExecState& exec, std::shared_ptr<EventState> done, const char* operation) {
  record_behind_work(*done, *exec.last, operation);
  exec.done = std::move(done);
  exec.unmarked = false;
}

/// Records the event behind the last launch if that failed when it was launched.
void mark_at_last(GraphExecState& exec, const char* operation) {
  if (exec.unmarked) mark(exec, next_done(exec, operation), operation);
}

}  // namespace

bool is_past(EventState& event) noexcept {
  const DeviceState& device = *event.device;
  if (device.lost.load(std::memory_order_relaxed)) return true;
  const DropsErrors drops;
  try {
    return query(event, "~GraphExec");
  } catch (const std::exception&) {
    static_cast<void>(take_message());
    return device.lost.load(std::memory_order_relaxed);
  }
}

namespace {

/// Whether all launches are done; true for a lost device.
bool is_finished(const GraphExecState& exec) noexcept {
  if (!exec.last || exec.device->lost.load(std::memory_order_relaxed)) return true;
  return exec.unmarked ? is_surely_idle(*exec.last, "GraphExec::launch") : is_past(*exec.done);
}

/// Whether the graph's work can have faults that turn_faults_to() has to direct.
bool turns_faults(const GraphExecState& exec, const char* operation) {
  if (exec.content->calls_host) return true;
  return exec.content->launches_kernels && exec.replay != nullptr && exec.replay->helpers() != nullptr &&
         has_capability(*exec.device, Capability::host_kernels, operation);
}

/// Directs faults of the next launch to its stream. Earlier launches may still be pending, and their faults belong to
/// their own streams, so the change is made in the stream's order.
void turn_faults_to(GraphExecState& exec, StreamState& stream, const char* operation) {
  const auto turn = [target = exec.fault_stream, helpers = exec.replay != nullptr ? exec.replay->helpers() : nullptr,
                     id = stream.id] {
    target->store(id, std::memory_order_release);
    if (helpers == nullptr) return;
    for (const Pin<StreamState>& helper : *helpers) helper->fault_target.store(id, std::memory_order_release);
  };
  const bool in_order = turns_faults(exec, operation) && !is_finished(exec) &&
                        has_capability(*exec.device, Capability::host_functions, operation);
  if (!in_order) return turn();
  launch_host_function(stream, turn, no_deed(), operation);
}

/// Makes the stream wait for the launch before, if that was on another stream.
void follow_last(GraphExecState& exec, StreamState& stream, const char* operation) {
  if (exec.last.get() == &stream) return;
  mark_at_last(exec, operation);
  if (exec.last) wait(stream, *exec.done, operation);
}

void submit_launch(GraphExecState& exec, StreamState& stream, const char* operation) {
  if (exec.content->list.nodes.empty()) return;  // nothing has to be submitted; the launch is ordered all the same
  if (launch_native(exec, stream, operation)) return;
  if (exec.replay == nullptr) {
    exec.replay = std::make_unique<Replay>(*exec.content, operation);
    if (const auto helpers = exec.replay->helpers()) {
      for (const Pin<StreamState>& helper : *helpers) helper->fault_target.store(stream.id, std::memory_order_release);
    }
  }
  exec.replay->launch(*exec.content, stream, operation);
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
  require_not_ended(exec->ended, device, "executable graph", operation);
  if (stream->is_diverted()) {
    // capture_work() decides under the captures' lock, because a capture may begin or end at any moment.
    Work work = ChildWork{exec->content};
    if (capture_work(*stream, work, operation)) return;
  }
  const GraphContent& content = *exec->content;
  // A wait for a captured record would make the stream join that capture in the middle of the graph.
  for (EventState* const event : content.waited) refuse_if_captured(*event, operation);
  const UncapturedScope uncaptured;
  std::shared_ptr<EventState> done = next_done(*exec, operation);
  follow_last(*exec, *stream, operation);
  if (exec->last.get() != stream.get()) turn_faults_to(*exec, *stream, operation);
  // Whatever fails from here on, a part of the launch may have been submitted.
  exec->last = streams().pin_again(stream->id, operation);
  exec->unmarked = true;
  if (content.draws != nullptr) content.draws->submit(*stream, operation);
  submit_launch(*exec, *stream, operation);
  mark(*exec, std::move(done), operation);
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
  const auto replaced = std::make_shared<RetiredWork>();
  {
    const std::lock_guard lock(exec.mutex);
    require_not_ended(exec.ended, *exec.device, "executable graph", operation);
    require_alike(exec, *flat, operation);
    mark_at_last(exec, operation);
    replaced->device = exec.device;
    replaced->backend_calls_host = exec.native != nullptr && exec.content->calls_host;
    if (exec.native != nullptr) replaced->kept = exec.native->update(flat, operation);
    if (replaced->kept == nullptr) {
      std::shared_ptr<NativeGraph> made =
          exec.may_be_native ? NativeGraph::make(flat, exec.fault_stream, operation) : nullptr;
      replaced->kept = std::exchange(exec.native, std::move(made));
    }
    replaced->content = std::exchange(exec.content, std::move(flat));
    if (exec.last) replaced->done = exec.done;
  }
  retire(replaced);
}

}  // namespace detail

// ---- The public functions ------------------------------------------------------------------------------------------

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
    flat = detail::flatten_for_launch(state.content(), operation);
  }
  GraphExec exec;
  exec.state_ = std::make_shared<detail::GraphExecState>(std::move(flat), options.native, operation);
  detail::note_live(exec.state_);
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
  constexpr const char* operation = "GraphExec::is_native";
  detail::GraphExecState& state = state_of_exec(state_, operation);
  const std::lock_guard lock(state.mutex);
  detail::require_not_ended(state.ended, *state.device, "executable graph", operation);
  return state.native != nullptr;
}

std::size_t GraphExec::size() const {
  constexpr const char* operation = "GraphExec::size";
  detail::GraphExecState& state = state_of_exec(state_, operation);
  const std::lock_guard lock(state.mutex);
  detail::require_not_ended(state.ended, *state.device, "executable graph", operation);
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
    flat = detail::flatten_for_launch(next.content(), operation);
  }
  detail::update(state, std::move(flat), operation);
}

}  // namespace anyplace
