// SPDX-License-Identifier: Apache-2.0
// Communicator makes the checks that are the same for all engines, and collects groups of operations.
#include "anyplace/communicator.h"

#include <fmt/format.h>

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "memory/address_side.h"
#include "memory/memory_state.h"
#include "ranks/engine_group.h"
#include "ranks/engines.h"
#include "ranks/open_groups.h"
#include "ranks/part.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "streams/captured.h"
#include "streams/stream_state.h"

namespace anyplace {
namespace detail {

struct CommunicatorState {
  std::shared_ptr<EngineGroup> group;
  std::string engine = "none";
};

Error timeout_error(const std::string& place, const char* operation, const std::string& what,
                    std::chrono::nanoseconds timeout) {
  ErrorDetails details;
  details.code = ErrorCode::timeout;
  details.place = place;
  details.operation = operation;
  details.text =
      fmt::format("not all ranks came to {} within {} s", what, std::chrono::duration<double>(timeout).count());
  details.remedy = "a rank has ended, is slower, or never calls it; CommunicatorOptions::timeout says how long to wait";
  details.see = "docs/ranks.md";
  return Error(std::move(details));
}

namespace {

CommunicatorState& require_state(const std::shared_ptr<CommunicatorState>& state, const char* operation) {
  enter(operation);
  if (!state) {
    fail(ErrorCode::invalid_handle, "", operation,
         "the communicator is null\nit was never made, was moved from, or is the split of a negative color");
  }
  return *state;
}

/// Returns require_state(), and also throws if the communicator has failed, was aborted, or its device can't be used.
CommunicatorState& require_working(const std::shared_ptr<CommunicatorState>& state, const char* operation) {
  CommunicatorState& working = require_state(state, operation);
  if (const std::optional<Error> failed = working.group->failure()) throw renamed(*failed, operation);
  require_usable(working.group->device(), operation);
  return working;
}

void require_root(const Part& part, const EngineGroup& group, const char* operation) {
  if (!part.has_root() || (part.root >= 0 && part.root < group.size())) return;
  fail(ErrorCode::invalid_argument, group.device().place, operation,
       fmt::format("the {} {} isn't a rank\nranks are 0 to {}", part.is_between_two() ? "peer" : "root", part.root,
                   group.size() - 1));
}

/// Throws invalid_argument unless the memory is there, as far as is known, and source and destination are in place or
/// don't overlap.
void require_memory(const Part& part, const EngineGroup& group, StreamState& stream, const char* operation) {
  DeviceState& device = group.device();
  const int rank = group.rank(), size = group.size();
  const std::uint64_t sent = part.source_bytes(rank, size);
  const std::uint64_t received = part.destination_bytes(rank, size);
  for (const bool is_source : {true, false}) {
    const std::uint64_t bytes = is_source ? sent : received;
    if (bytes == 0) continue;
    if (!is_source && part.source == part.destination && received <= sent) continue;  // it was checked as the source
    const AddressSide side(is_source ? "source" : "destination", is_source ? part.source : part.destination, device);
    side.require(bytes, device, operation);
    if (side.device() != nullptr && side.device() != &device) {
      fail(ErrorCode::invalid_argument, device.place, operation,
           fmt::format("the {} is memory of {}, and the communicator is of {}\nit takes memory of its own device",
                       side.name(), side.device()->place, device.place));
    }
    side.note_use(stream, operation);
  }
  if (sent == 0 || received == 0) return;
  const std::uint64_t own = part.what == Collective::all_gather
                                ? part.destination + static_cast<std::uint64_t>(rank) * part.count * size_of(part.type)
                                : part.destination;
  const bool in_place_allowed = part.what != Collective::reduce_scatter && part.what != Collective::all_to_all;
  if (in_place_allowed && part.source == own) return;
  const bool apart = part.source + sent <= part.destination || part.destination + received <= part.source;
  if (apart) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       in_place_allowed ? "source and destination overlap\nthey are the same, or apart\nsee docs/ranks.md"
                        : "source and destination overlap\nthis operation isn't done in place\nsee docs/ranks.md");
}

/// Tells layers what an engine is about to do: they see none of its calls. A rank alone copies by the stream's own.
void tell_layers(EngineGroup& group, const StreamState& stream, std::span<const Part> parts, const char* operation) {
  if (!layers_listen() || group.uses_stream_calls()) return;
  std::vector<anyplace_layer_access> accesses;
  for (const Part& part : parts) {
    const std::uint64_t sent = part.source_bytes(group.rank(), group.size());
    const std::uint64_t received = part.destination_bytes(group.rank(), group.size());
    if (sent != 0) accesses.push_back({ANYPLACE_ACCESS_READ, 0, part.source, sent});
    if (received != 0) accesses.push_back({ANYPLACE_ACCESS_WRITE, 0, part.destination, received});
  }
  const char* const name = parts.size() == 1 ? to_string(parts.front().what) : "group of collectives";
  const std::vector<anyplace_layer_meeting> meetings = group.meetings().of(parts, group.rank(), group.size());
  check(note_engine_work(group.device(), stream.id, name, accesses, meetings), group.device(), operation);
}

bool is_type(DType type) noexcept { return size_of(type) != 0; }

/// Checks the part and submits it, or adds it to the group.
void operate(const std::shared_ptr<CommunicatorState>& shared, const StreamView& view, const Part& part,
             const char* operation) {
  CommunicatorState& state = require_working(shared, operation);
  EngineGroup& group = *state.group;
  DeviceState& device = group.device();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  if (stream->device != &device) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the stream is of {}, and the communicator is of {}\nuse a stream of {}", stream->device->place,
                     device.place, device.place));
  }
  refuse_if_captured(*stream, operation);
  if (!is_type(part.type)) fail(ErrorCode::invalid_argument, device.place, operation, "the type is no DType");
  if (part.count > UINT64_MAX / size_of(part.type) / static_cast<std::uint64_t>(group.size())) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("{} elements for each of {} ranks are more bytes than 64 bits count", part.count, group.size()));
  }
  require_root(part, group, operation);
  require_reduction(part, device.place, operation);
  group.require(part, operation);
  require_memory(part, group, *stream, operation);
  if (part.count == 0 && part.what != Collective::barrier) return;
  OpenGroup* const open = find_open_group(shared);
  if (open == nullptr) {
    tell_layers(group, *stream, {&part, 1}, operation);
    if (!group.submit_at_once(stream, part, operation)) group.submit(stream, {part}, operation);
    return;
  }
  if (!open->parts.empty() && open->stream_id != view.id()) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         "the group has operations of another stream\nall between group_start and group_end are of one stream");
  }
  open->stream_id = view.id();
  open->parts.push_back(part);
}

}  // namespace
}  // namespace detail

using detail::Collective;
using detail::operate;
using detail::Part;
using detail::require_state;
using detail::require_working;

// ---- Life and state ------------------------------------------------------------------------------------------------

Communicator::Communicator(const Device& device, const Bootstrap& bootstrap, CommunicatorOptions options) {
  constexpr const char* operation = "Communicator";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  auto state = std::make_shared<detail::CommunicatorState>();
  detail::MadeGroup made = detail::make_group(*device.state(), bootstrap.plan(), options, operation);
  state->group = std::move(made.group);
  state->engine = std::move(made.engine);
  state_ = std::move(state);
}

int Communicator::rank() const { return require_working(state_, "Communicator::rank").group->rank(); }

int Communicator::size() const { return require_working(state_, "Communicator::size").group->size(); }

Device Communicator::device() const { return Device(&require_working(state_, "Communicator::device").group->device()); }

std::string Communicator::engine() const { return require_working(state_, "Communicator::engine").engine; }

bool Communicator::query() const {
  constexpr const char* operation = "Communicator::query";
  const bool idle = require_working(state_, operation).group->idle();
  require_working(state_, operation);
  return idle;
}

void Communicator::synchronize() const {
  constexpr const char* operation = "Communicator::synchronize";
  require_working(state_, operation).group->wait(detail::Deadline(ANYPLACE_FOREVER));
  require_working(state_, operation);
}

bool Communicator::synchronize(std::chrono::nanoseconds timeout) const {
  constexpr const char* operation = "Communicator::synchronize";
  const bool idle = require_working(state_, operation).group->wait(detail::Deadline(detail::to_timeout_ns(timeout)));
  require_working(state_, operation);
  return idle;
}

std::optional<Error> Communicator::async_error() const {
  return require_state(state_, "Communicator::async_error").group->failure();
}

void Communicator::abort() const {
  constexpr const char* operation = "Communicator::abort";
  const detail::CommunicatorState& state = require_state(state_, operation);
  ErrorDetails details;
  details.code = ErrorCode::invalid_handle;
  details.place = state.group->device().place;
  details.operation = operation;
  details.text = "the communicator was aborted";
  details.remedy = "make another one";
  state.group->end(Error(std::move(details)));
}

Communicator Communicator::split(int color, int key) const {
  constexpr const char* operation = "Communicator::split";
  const detail::CommunicatorState& state = require_working(state_, operation);
  Communicator part;
  if (auto group = state.group->split(color, key, operation)) {
    part.state_ = std::make_shared<detail::CommunicatorState>();
    part.state_->group = std::move(group);
    part.state_->engine = state.engine;
  }
  return part;
}

// ---- Groups --------------------------------------------------------------------------------------------------------

namespace {

void start_group(const std::shared_ptr<detail::CommunicatorState>& state, const char* operation) {
  require_working(state, operation);
  detail::OpenGroup& group = detail::open_group(state);
  group.starts.push_back(group.parts.size());
}

void end_group(const std::shared_ptr<detail::CommunicatorState>& shared, const char* operation) {
  detail::CommunicatorState& state = require_state(shared, operation);
  detail::OpenGroup* const open = detail::find_open_group(shared);
  if (open == nullptr) {
    detail::fail(ErrorCode::invalid_argument, state.group->device().place, operation,
                 "this thread has no group: there is no group_start before\na group begins and ends on one thread\nsee "
                 "docs/ranks.md");
  }
  open->starts.pop_back();
  if (!open->starts.empty()) return;
  const detail::OpenGroup closed = detail::close_group(open);
  require_working(shared, operation);
  if (closed.parts.empty()) return;
  const detail::Pin<detail::StreamState> stream = detail::streams().pin(closed.stream_id, operation);
  detail::refuse_if_captured(*stream, operation);
  detail::tell_layers(*state.group, *stream, closed.parts, operation);
  state.group->submit(stream, closed.parts, operation);
}

}  // namespace

void Communicator::group_start() const { start_group(state_, "Communicator::group_start"); }

void Communicator::group_end() const { end_group(state_, "Communicator::group_end"); }

GroupGuard::GroupGuard(const Communicator& communicator)
    : state_(communicator.state_), exceptions_(std::uncaught_exceptions()) {
  start_group(state_, "GroupGuard");
}

GroupGuard::~GroupGuard() noexcept(false) {
  if (std::uncaught_exceptions() == exceptions_) {
    end_group(state_, "GroupGuard");
    return;
  }
  detail::OpenGroup* const open = detail::find_open_group(state_);
  if (open == nullptr) return;
  open->parts.erase(open->parts.begin() + static_cast<std::ptrdiff_t>(open->starts.back()), open->parts.end());
  open->starts.pop_back();
  if (open->starts.empty()) detail::close_group(open);
}

// ---- Operations ----------------------------------------------------------------------------------------------------

void Communicator::all_reduce(const StreamView& stream, Address destination, Address source, std::uint64_t count,
                              DType type, Reduction reduction) const {
  operate(state_, stream, {Collective::all_reduce, type, reduction, 0, count, destination.value(), source.value()},
          "Communicator::all_reduce");
}

void Communicator::reduce(const StreamView& stream, Address destination, Address source, std::uint64_t count,
                          DType type, int root, Reduction reduction) const {
  operate(state_, stream, {Collective::reduce, type, reduction, root, count, destination.value(), source.value()},
          "Communicator::reduce");
}

void Communicator::broadcast(const StreamView& stream, Address data, std::uint64_t count, DType type, int root) const {
  operate(state_, stream, {Collective::broadcast, type, Reduction::sum, root, count, data.value(), data.value()},
          "Communicator::broadcast");
}

void Communicator::all_gather(const StreamView& stream, Address destination, Address source, std::uint64_t count,
                              DType type) const {
  operate(state_, stream, {Collective::all_gather, type, Reduction::sum, 0, count, destination.value(), source.value()},
          "Communicator::all_gather");
}

void Communicator::reduce_scatter(const StreamView& stream, Address destination, Address source, std::uint64_t count,
                                  DType type, Reduction reduction) const {
  operate(state_, stream, {Collective::reduce_scatter, type, reduction, 0, count, destination.value(), source.value()},
          "Communicator::reduce_scatter");
}

void Communicator::all_to_all(const StreamView& stream, Address destination, Address source, std::uint64_t count,
                              DType type) const {
  operate(state_, stream, {Collective::all_to_all, type, Reduction::sum, 0, count, destination.value(), source.value()},
          "Communicator::all_to_all");
}

void Communicator::send(const StreamView& stream, Address source, std::uint64_t count, DType type, int peer) const {
  operate(state_, stream, {Collective::send, type, Reduction::sum, peer, count, 0, source.value()},
          "Communicator::send");
}

void Communicator::recv(const StreamView& stream, Address destination, std::uint64_t count, DType type,
                        int peer) const {
  operate(state_, stream, {Collective::recv, type, Reduction::sum, peer, count, destination.value(), 0},
          "Communicator::recv");
}

void Communicator::barrier(const StreamView& stream) const {
  operate(state_, stream, {Collective::barrier, DType::u8, Reduction::sum, 0, 0, 0, 0}, "Communicator::barrier");
}

// ---- Buffers -------------------------------------------------------------------------------------------------------

void Communicator::require(const BufferView& buffer, std::uint64_t bytes) const {
  if (buffer.size_bytes() >= bytes) return;
  const detail::DeviceState& device = require_working(state_, "Communicator").group->device();
  detail::fail(ErrorCode::invalid_argument, device.place, "Communicator",
               fmt::format("the buffer has {} bytes, and the operation needs {}\nmake it as large as the counts say",
                           buffer.size_bytes(), bytes));
}

Address Communicator::used(const BufferView& buffer, const StreamView& stream) const {
  if (!buffer) return Address();
  const detail::PinnedRange range = detail::pin_range(buffer, "Communicator");
  // Most buffers are the stream's own, which are kept for its work anyway. This is most of what a small operation costs
  // here.
  if (range.buffer && range.buffer->home && range.buffer->home->id == stream.id()) return Address(range.address);
  const detail::CommunicatorState& state = require_working(state_, "Communicator");
  // A stream of another device is refused later, by the operation itself, whose error names both devices.
  if (stream && stream.device().state() == &state.group->device()) buffer.record_stream(stream);
  return Address(range.address);
}

std::uint64_t Communicator::part_of(std::uint64_t elements) const {
  const auto size = static_cast<std::uint64_t>(this->size());
  if (elements % size == 0) return elements / size;
  detail::fail(ErrorCode::invalid_argument, device().to_string(), "Communicator::all_to_all",
               fmt::format("{} elements aren't the same number for each of {} ranks", elements, size));
}

}  // namespace anyplace
