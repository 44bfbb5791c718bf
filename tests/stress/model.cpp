// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

namespace stress {
namespace {

bool contained(const Done& part, const Done& all) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] > (i < all.size() ? all[i] : 0)) return false;
  }
  return true;
}

}  // namespace

Model::Model(const Round& round, const std::vector<Traits>& traits)
    : devices_(round.devices()),
      threads_(round.threads),
      traits_(traits),
      order_(round.threads, static_cast<std::size_t>(round.first_made_stream())) {
  for (Number device = 0; device < devices_; ++device) {
    Stream& null = streams_[device];
    null.there = true;
    null.device = device;
    for (std::uint32_t thread = 0; thread < round.threads; ++thread) {
      Stream& own = streams_[round.own_stream(thread, device)];
      own.there = true;
      own.device = device;
      own.blocking = true;
      own.owner = static_cast<int>(thread);
    }
  }
}

std::uint64_t Model::live_bytes(Number device) const {
  std::uint64_t bytes = 0;
  for (const auto& [id, buffer] : buffers_) {
    if (buffer.there && buffer.device == device) bytes += buffer.bytes.size();
  }
  return bytes;
}

/// The streams whose known work comes before new work of this one.
std::vector<std::int64_t> Model::related(Number stream, bool is_work) const {
  std::vector<std::int64_t> all{stream};
  const Stream& own = streams_.at(stream);
  if (!is_work || !traits(own.device).blocking_streams) return all;
  if (own.blocking) all.push_back(own.device);
  if (stream != own.device) return all;
  for (const auto& [id, other] : streams_) {
    // Of one that was destroyed nothing is promised.
    if (other.there && other.blocking && other.device == own.device) all.push_back(id);
  }
  return all;
}

/// Whether what has to come first does.
Refusal Model::check(Draft& draft, const Done& before) const {
  for (const Touch& touch : draft.touches) {
    const bool data = touch.access != Access::use && touch.access != Access::exclusive;
    if (!data) continue;
    const bool writes = touch.access == Access::write || touch.access == Access::host_write;
    const bool by_host =
        touch.access == Access::host_read || touch.access == Access::host_write || touch.access == Access::read_now;
    const Done& done = by_host ? draft.sight.done : before;
    const Place& last = touch.thing->exclusive;
    if (last.stream >= 0 && !order_.holds(done, last)) return {Refusal::Why::race, last, by_host};
    if (!writes) continue;
    for (const auto& [lane, use] : touch.thing->shared) {
      if (use.stream >= 0 && !order_.holds(done, use)) return {Refusal::Why::race, use, by_host};
    }
  }
  return {};
}

/// Whether everything that uses the memory is in the order in which it is freed.
Refusal Model::check_end(const Operation& operation, const Draft& draft) const {
  const Buffer& buffer = buffers_.at(operation.buffer);
  const Done done = order_.before(draft.sight, related(buffer.stream, false));
  const auto known = [&](const Place& use) {
    return use.stream < 0 || use.stream == buffer.stream || buffer.recorded.count(use.stream) != 0 ||
           order_.holds(done, use);
  };
  if (!known(buffer.exclusive)) return {Refusal::Why::race, buffer.exclusive, false};
  for (const auto& [lane, use] : buffer.shared) {
    if (!known(use)) return {Refusal::Why::race, use, false};
  }
  return {};
}

Refusal Model::apply(const Operation& operation, Step& step) {
  Draft draft;
  draft.sight = order_.next(operation.thread);
  if (!describe(operation, draft)) return {Refusal::Why::senseless, {}, false};
  for (const Touch& touch : draft.touches) {
    order_.follow(draft.sight, touch.thing->exclusive.thread, touch.thing->exclusive.index);
    if (touch.access != Access::exclusive && touch.access != Access::write && touch.access != Access::host_write)
      continue;
    for (const auto& [lane, use] : touch.thing->shared) order_.follow(draft.sight, use.thread, use.index);
  }
  if (operation.kind == Kind::follow) {
    order_.follow(draft.sight, static_cast<std::uint32_t>(operation.other),
                  order_.count(static_cast<std::uint32_t>(operation.other)));
  }
  Done before;
  if (draft.stream >= 0) before = order_.before(draft.sight, related(draft.stream, draft.is_work));
  if (draft.also) Order::join(before, *draft.also);
  if (operation.kind == Kind::wait_stream) {
    const std::int64_t other[] = {operation.other};
    Order::join(before, order_.before(draft.sight, other));
  }
  if (operation.kind == Kind::elapsed) {
    for (const Number id : {operation.event, operation.other}) {
      const Event& event = events_.at(id);
      if (!contained(event.known, draft.sight.done)) return {Refusal::Why::race, event.record, true};
    }
  }
  if (const Refusal refusal = check(draft, before)) return refusal;
  const bool frees = operation.kind == Kind::end_buffer || operation.kind == Kind::end_buffer_in_call;
  if (frees) {
    if (const Refusal refusal = check_end(operation, draft)) return refusal;
  }
  take_effect(operation, draft, before, step);
  return {};
}

void Model::take_effect(const Operation& operation, Draft& draft, const Done& before, Step& step) {
  const std::uint32_t thread = draft.sight.thread;
  const std::uint32_t index = draft.sight.clock[thread];
  take_bytes(operation, step);
  take_order(operation, draft, before, step);
  for (const Touch& touch : draft.touches) {
    const bool by_work =
        touch.access == Access::read || touch.access == Access::write || touch.access == Access::read_now;
    const Place place{by_work ? draft.stream : -1, thread, index};
    if (touch.access == Access::exclusive || touch.access == Access::write || touch.access == Access::host_write) {
      touch.thing->exclusive = place;
      touch.thing->shared.clear();
    } else {
      touch.thing->shared[{place.stream, thread}] = place;
    }
  }
  if (draft.stream >= 0) order_.submit(draft.sight, draft.stream, before);
  step.behind = draft.sight.behind;
  order_.finish(draft.sight);
  last_ = operation;
}

/// What is made and ended, and who knows what.
void Model::take_order(const Operation& operation, Draft& draft, const Done& before, Step& step) {
  const std::uint32_t thread = draft.sight.thread;
  const Place here{-1, thread, draft.sight.clock[thread]};
  switch (operation.kind) {
    case Kind::make_stream: {
      while (static_cast<Number>(order_.streams()) <= operation.stream) order_.add_stream();
      Stream& stream = streams_[operation.stream];
      stream.there = true;
      stream.device = operation.device;
      stream.blocking = operation.option == blocking;
      stream.exclusive = here;
      break;
    }
    case Kind::end_stream:
      streams_.at(operation.stream).there = false;
      break;
    case Kind::end_stream_in_call:
      streams_.at(operation.other).there = false;
      streams_.at(operation.other).lives_on = true;
      break;
    case Kind::sync_stream: {
      Stream& stream = streams_.at(operation.stream);
      step.must = stream.faulted_by >= 0;
      stream.faulted_by = -1;
      const std::int64_t own[] = {operation.stream};
      Order::join(draft.sight.done, order_.before(draft.sight, own));
      break;
    }
    case Kind::query_stream: {
      // The library may have marked the stream since, for others to wait for; and the null stream and the blocking ones
      // wait for each other.
      const Stream& stream = streams_.at(operation.stream);
      const bool apart = !stream.blocking && operation.stream >= devices_;
      const bool waited = (last_.kind == Kind::sync_stream && last_.stream == operation.stream) ||
                          (last_.kind == Kind::sync_device && last_.device == stream.device);
      step.must = apart && waited && threads_ == 1;
      break;
    }
    case Kind::sync_device: {
      std::vector<std::int64_t> all;
      for (const auto& [id, stream] : streams_) {
        if (stream.device == operation.device) all.push_back(id);
      }
      Order::join(draft.sight.done, order_.before(draft.sight, all));
      break;
    }
    case Kind::make_event:
    case Kind::record_new:
    case Kind::record: {
      Event& event = events_[operation.event];
      if (operation.kind != Kind::record) {
        event.there = true;
        event.timed = operation.option == timed;
        event.device = operation.kind == Kind::make_event ? operation.device : streams_.at(operation.stream).device;
        event.exclusive = here;
      }
      if (operation.kind == Kind::make_event) break;
      event.recorded = true;
      event.known = order_.after(operation.stream, before, draft.sight);
      event.record = {operation.stream, thread, here.index};
      break;
    }
    case Kind::end_event:
    case Kind::end_event_in_call:
      events_.at(operation.event).there = false;
      events_.at(operation.event).lives_on = operation.kind == Kind::end_event_in_call;
      break;
    case Kind::sync_event:
      Order::join(draft.sight.done, events_.at(operation.event).known);
      break;
    case Kind::query_event:
      step.must = contained(events_.at(operation.event).known, draft.sight.done);
      break;
    case Kind::elapsed: {
      const Event &start = events_.at(operation.event), &end = events_.at(operation.other);
      step.must = order_.holds(end.known, start.record);
      break;
    }
    case Kind::call_throw:
      streams_.at(operation.stream).faulted_by = static_cast<int>(thread);
      break;
    case Kind::make_pool:
    case Kind::make_module: {
      Thing& thing = operation.kind == Kind::make_pool ? pools_[operation.pool] : modules_[operation.module];
      thing.there = true;
      thing.device = operation.device;
      thing.exclusive = here;
      break;
    }
    case Kind::end_pool:
      pools_.at(operation.pool).there = false;
      break;
    case Kind::end_module:
      modules_.at(operation.module).there = false;
      break;
    case Kind::make_buffer: {
      Buffer& buffer = buffers_[operation.buffer];
      buffer.exclusive = {operation.stream, thread, here.index};
      if (operation.option == ends_pool) pools_.at(operation.pool).there = false;
      break;
    }
    case Kind::make_host:
      hosts_[operation.host].exclusive = here;
      break;
    case Kind::record_stream:
      buffers_.at(operation.buffer).recorded.insert(operation.stream);
      break;
    default:
      break;
  }
}

Plan plan(const Round& round, const std::vector<Traits>& traits) {
  Plan result{round, std::vector<std::vector<Step>>(round.threads), 0, false};
  result.round.operations.clear();
  Model model(round, traits);
  for (const Operation& operation : round.operations) {
    Step step;
    if (model.apply(operation, step)) continue;
    step.number = result.round.operations.size();
    if (!step.expected.empty() || step.must) ++result.checks;
    result.round.operations.push_back(operation);
    result.threads[operation.thread].push_back(std::move(step));
  }
  for (const auto& [id, stream] : model.streams()) result.fault_left = result.fault_left || stream.faulted_by >= 0;
  return result;
}

}  // namespace stress
