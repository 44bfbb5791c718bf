// SPDX-License-Identifier: Apache-2.0
//
// What makes sense: which things an operation needs, and how it uses them.
#include "model.h"

namespace stress {
namespace {

template <class Things>
auto* find(Things& things, Number id) {
  const auto found = things.find(id);
  return found != things.end() && found->second.there ? &found->second : nullptr;
}

template <class Things>
bool is_dead(const Things& things, Number id) {
  const auto found = things.find(id);
  return found != things.end() && !found->second.there && !found->second.lives_on;
}

bool within(Number offset, Number bytes, std::size_t size) {
  return offset >= 0 && bytes > 0 && offset <= static_cast<Number>(size) && bytes <= static_cast<Number>(size) - offset;
}

/// What 2D rows span; 0 if they make no sense.
Number span_of(Number width, Number pitch, Number rows) {
  return width <= 0 || rows <= 0 || pitch < width ? 0 : pitch * (rows - 1) + width;
}

}  // namespace

bool Model::use_stream(Number id, Draft& draft, bool submits, bool works) {
  Stream* const stream = find(streams_, id);
  if (stream == nullptr) return false;
  const int thread = static_cast<int>(draft.sight.thread);
  if (stream->owner >= 0 && stream->owner != thread) return false;
  // Who collects a fault is known only if no other thread could.
  if (stream->faulted_by >= 0 && stream->faulted_by != thread) return false;
  draft.touches.push_back({stream, Access::use});
  if (submits) {
    draft.stream = id;
    draft.is_work = works;
  }
  return true;
}

Model::Buffer* Model::buffer_on(Number id, Number device) {
  Buffer* const buffer = find(buffers_, id);
  return buffer != nullptr && buffer->device == device ? buffer : nullptr;
}

bool Model::describe(const Operation& operation, Draft& draft) {
  switch (operation.kind) {
    case Kind::follow:
      return operation.other >= 0 && operation.other < static_cast<Number>(draft.sight.clock.size());
    case Kind::make_stream:
    case Kind::end_stream:
    case Kind::wait_stream:
    case Kind::sync_stream:
    case Kind::try_stream:
    case Kind::query_stream:
    case Kind::end_stream_in_call:
      return describe_stream(operation, draft);
    case Kind::make_event:
    case Kind::end_event:
    case Kind::record:
    case Kind::record_new:
    case Kind::wait_event:
    case Kind::sync_event:
    case Kind::try_event:
    case Kind::query_event:
    case Kind::elapsed:
    case Kind::end_event_in_call:
      return describe_event(operation, draft);
    case Kind::sync_device:
    case Kind::try_device:
    case Kind::empty_cache:
    case Kind::read_books:
      return operation.device >= 0 && operation.device < devices_;
    case Kind::peer_access:
      return operation.device >= 0 && operation.device < devices_ && operation.other >= 0 &&
             operation.other < devices_ && operation.other != operation.device &&
             traits(operation.device).backend == traits(operation.other).backend;
    case Kind::make_pool:
    case Kind::end_pool:
    case Kind::release_pool:
    case Kind::make_module:
    case Kind::end_module:
      return describe_object(operation, draft);
    case Kind::make_buffer:
    case Kind::end_buffer:
    case Kind::end_buffer_in_call:
    case Kind::record_stream:
    case Kind::make_host:
    case Kind::end_host:
    case Kind::write_host:
    case Kind::check_host:
    case Kind::write_managed:
    case Kind::check_managed:
    case Kind::out_of_memory:
      return describe_memory(operation, draft);
    case Kind::fill:
    case Kind::upload:
    case Kind::download:
    case Kind::copy:
    case Kind::upload_2d:
    case Kind::download_2d:
    case Kind::copy_2d:
    case Kind::mix:
      return describe_copy(operation, draft);
    case Kind::call_write:
    case Kind::call_check:
    case Kind::call_delay:
    case Kind::call_throw:
      return describe_call(operation, draft);
    case Kind::stale_stream:
    case Kind::stale_event:
    case Kind::stale_buffer:
      return describe_stale(operation, draft);
  }
  return false;
}

bool Model::describe_stream(const Operation& operation, Draft& draft) {
  const Number id = operation.stream;
  Stream* const stream = find(streams_, id);
  switch (operation.kind) {
    case Kind::make_stream:
      if (operation.device < 0 || operation.device >= devices_ || streams_.count(id) != 0) return false;
      return id == static_cast<Number>(order_.streams()) || (id > static_cast<Number>(order_.streams()) && id < 4096);
    case Kind::end_stream:
      if (stream == nullptr || stream->owner >= 0 || id < devices_ || stream->faulted_by >= 0) return false;
      draft.touches.push_back({stream, Access::exclusive});
      return true;
    case Kind::end_stream_in_call: {
      Stream* const other = find(streams_, operation.other);
      if (other == nullptr || other->owner >= 0 || operation.other < devices_ || operation.other == id ||
          other->faulted_by >= 0 || !use_stream(id, draft, true)) {
        return false;
      }
      draft.touches.push_back({other, Access::exclusive});
      return traits(stream->device).host_functions;
    }
    case Kind::wait_stream:
      if (!use_stream(operation.other, draft, false) || !use_stream(id, draft, true, false)) return false;
      draft.stream = id;
      return true;
    case Kind::sync_stream:
      if (!use_stream(id, draft, false)) return false;
      if (stream->faulted_by >= 0) draft.touches.back().access = Access::exclusive;
      return true;
    default:  // what only looks
      return use_stream(id, draft, false) && stream->faulted_by < 0;
  }
}

bool Model::describe_event(const Operation& operation, Draft& draft) {
  Event* const event = find(events_, operation.event);
  Event* const other = operation.kind == Kind::elapsed ? find(events_, operation.other) : nullptr;
  switch (operation.kind) {
    case Kind::make_event:
      return events_.count(operation.event) == 0 && operation.device >= 0 && operation.device < devices_ &&
             (operation.option != timed || traits(operation.device).timed_events);
    case Kind::record_new: {
      if (events_.count(operation.event) != 0 || !use_stream(operation.stream, draft, true, false)) return false;
      return operation.option != timed || traits(streams_.at(operation.stream).device).timed_events;
    }
    default:
      break;
  }
  if (event == nullptr) return false;
  const bool changes =
      operation.kind == Kind::record || operation.kind == Kind::end_event || operation.kind == Kind::end_event_in_call;
  draft.touches.push_back({event, changes ? Access::exclusive : Access::use});
  switch (operation.kind) {
    case Kind::record:
      return use_stream(operation.stream, draft, true, false) && streams_.at(operation.stream).device == event->device;
    case Kind::wait_event:
      draft.also = event->known;
      return use_stream(operation.stream, draft, true, false);
    case Kind::end_event_in_call:
      return use_stream(operation.stream, draft, true) && traits(streams_.at(operation.stream).device).host_functions;
    case Kind::elapsed:
      if (other == nullptr || other == event || !other->timed || !event->timed) return false;
      draft.touches.push_back({other, Access::use});
      return event->device == other->device && event->recorded && other->recorded;  // others have clocks of their own
    default:
      return true;
  }
}

bool Model::describe_object(const Operation& operation, Draft& draft) {
  const bool is_module = operation.kind == Kind::make_module || operation.kind == Kind::end_module;
  std::map<Number, Thing>& things = is_module ? modules_ : pools_;
  const Number id = is_module ? operation.module : operation.pool;
  if (operation.kind == Kind::make_module || operation.kind == Kind::make_pool) {
    if (id < 0 || things.count(id) != 0 || operation.device < 0 || operation.device >= devices_) return false;
    return !is_module || traits(operation.device).modules;
  }
  Thing* const thing = find(things, id);
  if (thing == nullptr) return false;
  draft.touches.push_back({thing, operation.kind == Kind::release_pool ? Access::use : Access::exclusive});
  return true;
}

bool Model::describe_memory(const Operation& operation, Draft& draft) {
  Buffer* const buffer = find(buffers_, operation.buffer);
  Host* const host = find(hosts_, operation.host);
  switch (operation.kind) {
    case Kind::make_buffer: {
      if (buffers_.count(operation.buffer) != 0 || operation.bytes <= 0 || operation.bytes > Number{1} << 26)
        return false;
      if (!use_stream(operation.stream, draft, true, false)) return false;
      const Number device = streams_.at(operation.stream).device;
      if (operation.option == managed && !traits(device).managed) return false;
      if (operation.pool < 0) return operation.option != ends_pool;
      Thing* const pool = find(pools_, operation.pool);
      if (pool == nullptr || pool->device != device) return false;
      draft.touches.push_back({pool, operation.option == ends_pool ? Access::exclusive : Access::use});
      return true;
    }
    case Kind::end_buffer:
    case Kind::end_buffer_in_call:
      if (buffer == nullptr) return false;
      draft.touches.push_back({buffer, Access::exclusive});
      if (operation.kind == Kind::end_buffer) return true;
      return use_stream(operation.stream, draft, true) && traits(streams_.at(operation.stream).device).host_functions;
    case Kind::record_stream:
      if (buffer == nullptr || !use_stream(operation.stream, draft, false)) return false;
      draft.touches.push_back({buffer, Access::use});
      return true;
    case Kind::make_host: {
      if (hosts_.count(operation.host) != 0 || operation.bytes <= 0 || operation.bytes > Number{1} << 26) return false;
      if (operation.device < 0 || operation.device >= devices_) return false;
      const Traits& has = traits(operation.device);
      return operation.option == pageable || (operation.option == pinned ? has.pinned : has.host_register);
    }
    case Kind::end_host:
      if (host == nullptr) return false;
      draft.touches.push_back({host, Access::host_write});
      return true;
    case Kind::write_host:
    case Kind::check_host:
      if (host == nullptr || !within(operation.offset, operation.bytes, host->bytes.size())) return false;
      draft.touches.push_back({host, operation.kind == Kind::check_host ? Access::host_read : Access::host_write});
      return true;
    case Kind::write_managed:
    case Kind::check_managed:
      if (buffer == nullptr || !buffer->managed || !buffer->whole ||
          !within(operation.offset, operation.bytes, buffer->bytes.size())) {
        return false;
      }
      draft.touches.push_back({buffer, operation.kind == Kind::check_managed ? Access::host_read : Access::host_write});
      return true;
    case Kind::out_of_memory:
      // As much as the device has can't be there while something else is.
      if (!use_stream(operation.stream, draft, false)) return false;
      return traits(streams_.at(operation.stream).device).memory != 0;
    default:
      return false;
  }
}

bool Model::describe_copy(const Operation& operation, Draft& draft) {
  if (!use_stream(operation.stream, draft, true)) return false;
  const Number device = streams_.at(operation.stream).device;
  const bool two =
      operation.kind == Kind::upload_2d || operation.kind == Kind::download_2d || operation.kind == Kind::copy_2d;
  const Number to_bytes = two ? span_of(operation.bytes, operation.pitch, operation.rows) : operation.bytes;
  const Number from_bytes = two ? span_of(operation.bytes, operation.from_pitch, operation.rows) : operation.bytes;
  const bool up = operation.kind == Kind::upload || operation.kind == Kind::upload_2d;
  const bool down = operation.kind == Kind::download || operation.kind == Kind::download_2d;
  // The destination.
  Data* const to = down ? static_cast<Data*>(find(hosts_, operation.host)) : find(buffers_, operation.buffer);
  if (to == nullptr || !within(operation.offset, to_bytes, to->bytes.size())) return false;
  const bool whole = to_bytes == static_cast<Number>(to->bytes.size()) && (!two || operation.pitch == operation.bytes);
  if (!to->whole && (!whole || operation.kind == Kind::mix)) return false;
  draft.touches.push_back({to, Access::write});
  if (operation.kind == Kind::fill) {
    return to->device == device && (operation.option == 1 || operation.option == 2 || operation.option == 4) &&
           operation.offset % operation.option == 0 && operation.bytes % operation.option == 0;
  }
  // The source.
  Data* const from = up ? static_cast<Data*>(find(hosts_, operation.host)) : find(buffers_, operation.from);
  if (from == nullptr || from == to || !from->whole || !within(operation.from_offset, from_bytes, from->bytes.size())) {
    return false;
  }
  Host* const host = up ? find(hosts_, operation.host) : down ? find(hosts_, operation.host) : nullptr;
  // Memory that another backend pinned is pageable to this one.
  const bool is_pageable =
      host != nullptr && (host->kind == pageable || traits(host->device).backend != traits(device).backend);
  if (is_pageable && streams_.at(operation.stream).faulted_by >= 0) return false;  // the call may wait, and show it
  draft.touches.push_back({from, up && is_pageable ? Access::read_now : Access::read});
  if (up) return to->device == device;
  if (down) return from->device == device;
  if (operation.kind != Kind::mix) return to->device == device || from->device == device;
  if (to->device != device || from->device != device || operation.rows < 1) return false;
  if (operation.offset % 4 != 0 || operation.from_offset % 4 != 0 || operation.bytes % 4 != 0) return false;
  if (operation.option == callable) return traits(device).host_kernels;
  Thing* const module = find(modules_, operation.module);
  if (module == nullptr || module->device != device) return false;
  draft.touches.push_back({module, Access::use});
  return true;
}

bool Model::describe_call(const Operation& operation, Draft& draft) {
  if (!use_stream(operation.stream, draft, true)) return false;
  Stream& stream = streams_.at(operation.stream);
  if (!traits(stream.device).host_functions) return false;
  if (operation.kind == Kind::call_delay) return operation.value >= 0 && operation.value <= 1'000'000;
  if (operation.kind == Kind::call_throw) {
    draft.touches.back().access = Access::exclusive;
    return operation.stream >= devices_;
  }
  Host* const host = find(hosts_, operation.host);
  if (host == nullptr || !within(operation.offset, operation.bytes, host->bytes.size())) return false;
  draft.touches.push_back({host, operation.kind == Kind::call_write ? Access::write : Access::read});
  return true;
}

bool Model::describe_stale(const Operation& operation, Draft& draft) {
  if (operation.kind == Kind::stale_stream) {
    if (!is_dead(streams_, operation.other)) return false;
    draft.touches.push_back({&streams_.at(operation.other), Access::use});
    return true;
  }
  if (!use_stream(operation.stream, draft, false)) return false;
  if (operation.kind == Kind::stale_event) {
    if (!is_dead(events_, operation.event)) return false;
    draft.touches.push_back({&events_.at(operation.event), Access::use});
    return true;
  }
  if (!is_dead(buffers_, operation.buffer)) return false;
  draft.touches.push_back({&buffers_.at(operation.buffer), Access::use});
  return true;
}

}  // namespace stress
