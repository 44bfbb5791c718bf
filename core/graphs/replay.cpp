// SPDX-License-Identifier: Apache-2.0
#include "graphs/replay.h"

#include <algorithm>

namespace anyplace::detail {

// ---- The plan ------------------------------------------------------------------------------------------------------

Replay::Replay(const GraphContent& content, const char* operation) {
  lanes_.push_back({content.device, {}, none, 0, false});
  plan(content, operation);
}

std::uint32_t Replay::new_lane(DeviceState& device, const char* operation) {
  lanes_.push_back({&device, take_helper_stream(device, operation), none, 0, false});
  return static_cast<std::uint32_t>(lanes_.size() - 1);
}

std::uint32_t Replay::choose_lane(const GraphContent& content, const Node& node, const char* operation) {
  for (std::uint32_t d = 0; d < node.dependency_count; ++d) {
    const std::uint32_t dependency = content.list.dependencies[node.first_dependency + d];
    const std::uint32_t lane = steps_[dependency].lane;
    if (lanes_[lane].last == dependency && lanes_[lane].device == node.device) return lane;
  }
  std::uint32_t shortest = none;
  std::size_t of_device = 0;
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].device != node.device) continue;
    if (lanes_[lane].last == none) return lane;
    ++of_device;
    if (shortest == none || lanes_[lane].length < lanes_[shortest].length) shortest = lane;
  }
  return of_device < most_lanes ? new_lane(*node.device, operation) : shortest;
}

std::uint32_t Replay::event_behind(std::uint32_t node, const char* operation) {
  Step& step = steps_[node];
  if (step.event == none) {
    events_.push_back(make_event(*lanes_[step.lane].device, 0, operation));
    step.event = static_cast<std::uint32_t>(events_.size() - 1);
  }
  return step.event;
}

void Replay::wait_for(Step& step, std::uint32_t lane, std::uint32_t position, std::uint32_t node,
                      const char* operation) {
  std::vector<std::uint32_t>& known = known_[step.lane];
  known.resize(lanes_.size());
  if (known[lane] >= position) return;
  known[lane] = position;
  waits_.push_back(event_behind(node, operation));
  ++step.wait_count;
}

void Replay::plan(const GraphContent& content, const char* operation) {
  const NodeList& list = content.list;
  steps_.reserve(list.nodes.size());
  for (std::uint32_t i = 0; i < list.nodes.size(); ++i) {
    const Node& node = list.nodes[i];
    Step step;
    step.lane = choose_lane(content, node, operation);
    step.first_wait = static_cast<std::uint32_t>(waits_.size());
    known_.resize(lanes_.size());
    Lane& lane = lanes_[step.lane];
    step.position = ++lane.length;
    // The dependencies are gone through from the latest to the earliest: a wait for the latest one in a lane covers the
    // earlier ones.
    for (std::uint32_t d = node.dependency_count; d-- > 0;) {
      const std::uint32_t dependency = list.dependencies[node.first_dependency + d];
      const Step& before = steps_[dependency];
      if (before.lane != step.lane) wait_for(step, before.lane, before.position, dependency, operation);
    }
    if (step.position == 1 && step.lane != 0 && step.wait_count == 0) lanes_[step.lane].waits_for_start = true;
    lanes_[step.lane].last = i;
    steps_.push_back(step);
  }
  known_[0].resize(lanes_.size());
  for (std::uint32_t lane = 1; lane < lanes_.size(); ++lane) {
    if (known_[0][lane] < lanes_[lane].length) joins_.push_back(event_behind(lanes_[lane].last, operation));
  }
  if (lanes_.size() == 1) return;
  start_ = make_event(*content.device, 0, operation);
  auto helpers = std::make_shared<std::vector<Pin<StreamState>>>();
  for (std::uint32_t lane = 1; lane < lanes_.size(); ++lane) {
    helpers->push_back(streams().pin_again(lanes_[lane].helper->id, operation));
  }
  helpers_ = std::move(helpers);
}

// ---- Launching -----------------------------------------------------------------------------------------------------

void Replay::launch(const GraphContent& content, StreamState& stream, const char* operation) {
  try {
    submit_all(content, stream, operation);
  } catch (...) {
    join_after_failure(stream, operation);
    throw;
  }
}

namespace {

/// record() and wait() for the plan's own events, which nobody else asks about: they go straight to the backend where
/// the stream isn't held.
void record_own(EventState& event, StreamState& stream, const char* operation) {
  DeviceState& device = *stream.device;
  if (stream.is_diverted()) return record_behind_work(event, stream, operation);
  check(device.table->event_record(device.self, event.handle, stream.handle), device, operation);
  if (event.record_is_held.load(std::memory_order_acquire)) note_plain_record(event);
}

void wait_own(StreamState& stream, EventState& event, const char* operation) {
  DeviceState& device = *stream.device;
  if (stream.is_diverted() || event.record_is_held.load(std::memory_order_acquire)) {
    return wait(stream, event, operation);
  }
  check(device.table->stream_wait_event(device.self, stream.handle, event.handle), device, operation);
}

}  // namespace

namespace {

/// Whether the wait has to be submitted at the beginning of the launch. It takes the event's most recent record before
/// the launch; if the graph records the event itself, that record would be taken at the node's own place.
bool begins_launch(const GraphContent& content, const Work& work) {
  const auto* const waited = std::get_if<WaitWork>(&work);
  if (waited == nullptr) return false;
  const EventState* const event = &**waited->event;
  return std::find(content.recorded.begin(), content.recorded.end(), event) != content.recorded.end();
}

}  // namespace

void Replay::submit_all(const GraphContent& content, StreamState& stream, const char* operation) {
  const bool any_begins = !content.waited.empty() && !content.recorded.empty();
  for (std::size_t i = 0; any_begins && i < content.list.nodes.size(); ++i) {
    const Work& work = content.list.nodes[i].work;
    if (begins_launch(content, work)) submit_work(work, stream, operation);
  }
  if (start_ != nullptr) {
    record_own(*start_, stream, operation);
    for (std::uint32_t lane = 1; lane < lanes_.size(); ++lane) {
      if (lanes_[lane].waits_for_start) wait_own(*lanes_[lane].helper, *start_, operation);
    }
  }
  const Node* node = content.list.nodes.data();
  for (const Step& step : steps_) {
    StreamState& on = stream_of(step.lane, stream);
    for (std::uint32_t w = 0; w < step.wait_count; ++w) {
      wait_own(on, *events_[waits_[step.first_wait + w]], operation);
    }
    if (!any_begins || !begins_launch(content, node->work)) submit_work(node->work, on, operation);
    if (step.event != none) record_own(*events_[step.event], on, operation);
    ++node;
  }
  for (const std::uint32_t event : joins_) wait_own(stream, *events_[event], operation);
}

/// Makes the stream wait for all work that the helper streams were given, because that uses the graph's memory.
void Replay::join_after_failure(StreamState& stream, const char* operation) noexcept {
  for (std::uint32_t lane = 1; lane < lanes_.size(); ++lane) {
    StreamState& helper = *lanes_[lane].helper;
    const DropsErrors drops;
    try {
      const std::unique_ptr<EventState> reached = make_event(*helper.device, 0, operation);
      record(*reached, helper, operation);
      wait(stream, *reached, operation);
    } catch (const std::exception&) {
      static_cast<void>(helper.device->table->stream_synchronize(helper.device->self, helper.handle, ANYPLACE_FOREVER));
      static_cast<void>(take_message());
    }
  }
}

}  // namespace anyplace::detail
