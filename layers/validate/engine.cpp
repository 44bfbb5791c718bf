// SPDX-License-Identifier: Apache-2.0
//
// Order and accesses. memory.cpp has what the engine knows of allocations.
#include "engine.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "thread.h"

namespace anyplace::validate {
namespace {

/// Accesses that are remembered: 96 bytes each, or less.
constexpr std::size_t most_accesses = std::size_t{1} << 20;

}  // namespace

Engine& Engine::only() {
  static Engine& engine = *new Engine();
  return engine;
}

// ---- Objects -------------------------------------------------------------------------------------------------------

Device& Engine::device(const void* backend, std::string_view backend_name, std::int32_t index) {
  for (const auto& known : devices_) {
    if (known->backend == backend && known->index == index) return *known;
  }
  Device& made = *devices_.emplace_back(std::make_unique<Device>());
  made.backend = backend;
  made.index = index;
  made.place = std::string(backend_name) + ":" + std::to_string(index);
  return made;
}

StreamPointer Engine::make_stream(Device& device, std::uint64_t cookie, std::uint32_t flags, bool is_default) {
  auto stream = std::make_shared<Stream>();
  stream->device = &device;
  stream->cookie = cookie;
  stream->is_default = is_default;
  stream->is_blocking = (flags & ANYPLACE_STREAM_BLOCKING) != 0;
  // A component whose operations the host saw done is used again: whatever remembers them is ordered before all that
  // is new.
  const auto reusable = std::find_if(free_components_.begin(), free_components_.end(), [&](const FreeComponent& free) {
    return host_.covers(free.component, free.number);
  });
  if (reusable != free_components_.end()) {
    stream->component = reusable->component;
    stream->number = reusable->number;
    free_components_.erase(reusable);
  } else {
    stream->component = components_++;
  }
  // The number is the one that the program knows: StreamView::id().
  stream->name = is_default ? "the default stream" : "stream " + std::to_string(++streams_made_[&device]);
  stream->name += " (id " + std::to_string(cookie) + ") of " + device.place;
  streams_.push_back(stream);
  by_cookie_[cookie] = stream;
  return stream;
}

StreamPointer Engine::stream_of(std::uint64_t cookie) const {
  const auto found = by_cookie_.find(cookie);
  return found == by_cookie_.end() ? nullptr : found->second;
}

void Engine::end_stream(const StreamPointer& stream) {
  if (stream->is_gone || stream->is_default) return;
  stream->is_gone = true;
  std::erase(streams_, stream);
  by_cookie_.erase(stream->cookie);
  free_components_.push_back({stream->component, stream->number});
  stream->device->gone.join(stream->clock);
  if (stream->is_blocking) stream->device->gone_blocking.join(stream->clock);
}

// ---- Order ---------------------------------------------------------------------------------------------------------

void Engine::catch_up(Stream& stream) {
  if (stream.host_version != host_version_) {
    stream.clock.join(host_);
    stream.host_version = host_version_;
  }
  if (stream.is_default || stream.is_blocking) {
    // Work of the null stream comes after that of all blocking streams of its device, and theirs after its.
    for (const StreamPointer& other : streams_) {
      const bool concerns = other.get() != &stream && other->device == stream.device &&
                            (stream.is_default ? other->is_blocking : other->is_default);
      if (concerns && !stream.clock.covers(other->component, other->number)) stream.clock.join(other->clock);
    }
  }
  if (stream.is_default) stream.clock.join(stream.device->gone_blocking);
  meetings_.settle(stream.clock);
}

void Engine::begin(Stream& stream) {
  catch_up(stream);
  stream.clock.set(stream.component, ++stream.number);
  stream.submitted = ++submissions_;
}

void Engine::wait(Stream& stream, const Clock& clock) {
  stream.clock.join(clock);
  begin(stream);
}

void Engine::host_saw(const Clock& clock) {
  if (!host_.join(clock)) return;
  meetings_.settle(host_);
  ++host_version_;
}

std::vector<Report> Engine::meet(Stream& stream, std::span<const anyplace_layer_meeting> meetings,
                                 const Clock& before) {
  if (meetings.empty()) return {};
  meetings_.arrive(meetings, stream, before);
  std::vector<Report> decided = meetings_.take_decided(false);
  meetings_.forget(host_);
  return decided;
}

bool Engine::put_off(const Report& report, const Access& first, const Stream* second, std::uint64_t number) {
  const auto first_is_behind = [&](const Meetings::Moment& part, std::uint64_t submitted) {
    if (first.component == part.component) return first.number > part.number;
    // An access doesn't know what came before it. Its stream does, as of now.
    return first.is_after(submitted) && std::any_of(streams_.begin(), streams_.end(), [&](const StreamPointer& stream) {
             return stream->component == first.component && stream->clock.covers(part.component, part.number);
           });
  };
  const Component component = second == nullptr ? host_component : second->component;
  return meetings_.put_off(report, {first.component, first.number}, first_is_behind, {component, number},
                           second == nullptr ? host_ : second->clock);
}

Clock Engine::clock_of(const Device& device) const {
  Clock clock = device.gone;
  for (const StreamPointer& stream : streams_) {
    if (stream->device == &device) clock.join(stream->clock);
  }
  return clock;
}

// ---- Operations ----------------------------------------------------------------------------------------------------

std::uint32_t Engine::operation(std::string_view name, const Stream* stream, const Sites::Frames& frames,
                                bool by_graph) {
  const SiteId site = sites.id_of(frames);
  const std::string& thread = thread_name();
  const std::uint64_t cookie = stream == nullptr ? 0 : stream->cookie;
  const std::uint64_t hash = (std::hash<std::string_view>()(name) ^ cookie * 0x9e3779b97f4a7c15u) +
                             (std::uint64_t{site} << 20) + this_thread().number;
  const auto [from, to] = known_operations_.equal_range(hash);
  for (auto known = from; known != to; ++known) {
    const Operation& found = operations_[known->second];
    if (found.site == site && found.name == name && found.stream_id == cookie && found.thread == thread &&
        found.by_graph == by_graph) {
      return known->second;
    }
  }
  auto number = static_cast<std::uint32_t>(operations_.size());
  if (free_operations_.empty()) {
    operations_.emplace_back();
  } else {
    number = free_operations_.back();
    free_operations_.pop_back();
  }
  operations_[number] = {std::string(name), stream == nullptr ? std::string() : stream->name, cookie, thread, site,
                         by_graph};
  known_operations_.emplace(hash, number);
  return number;
}

// ---- Accesses ------------------------------------------------------------------------------------------------------

Side Engine::side(std::uint32_t operation, std::string_view what, const Range& range, Space space) {
  Side side;
  const Operation& known = operations_[operation];
  side.operation = known.name;
  side.access = what;
  side.stream = known.stream;
  side.stream_id = known.stream_id;
  side.thread = known.thread;
  side.address = range.begin;
  side.bytes = range.bytes();
  if (const Allocation* const allocation = range.bytes() == 0 ? nullptr : allocation_at(space, range.begin)) {
    side.name = allocation->name;
  }
  side.site = sites.frames_of(known.site);
  side.functions = sites.functions_of(known.site);
  return side;
}

std::string Engine::place_of(const Stream* stream, const Touch& touch) {
  if (stream != nullptr) return stream->device->place;
  const Allocation* const allocation = allocation_at(touch.space, touch.range.begin);
  return allocation != nullptr && allocation->device != nullptr ? allocation->device->place : "host";
}

Report Engine::race(const Conflict& conflict, const Touch& touch, const Stream* stream, std::uint32_t operation) {
  Report report;
  report.place = place_of(stream, touch);
  report.bytes = conflict.bytes.bytes();
  const std::string bytes = std::to_string(report.bytes) + " bytes";
  report.second = side(operation, touch.writes ? "write" : "read", touch.range, touch.space);
  if (conflict.unwritten) {
    report.kind = "uninitialized-read";
    report.what = bytes + " are read that nobody wrote";
    report.why = "nothing was submitted that writes them since the memory was had";
    report.mend = "fill or copy to the buffer before " + report.second.operation;
    return report;
  }
  const Access& first = conflict.first;
  report.first = side(first.operation, first.writes != 0 ? "write" : "read", first.range, touch.space);
  const Allocation* const now = allocation_at(touch.space, conflict.bytes.begin);
  const bool is_handed_on = first.allocation != 0 && now != nullptr && now->is_live && now->id != first.allocation;
  report.kind = is_handed_on ? "use-of-handed-on" : "race";
  const std::string& a = report.first.stream;
  const std::string& b = report.second.stream;
  report.what = is_handed_on
                    ? bytes + " are used that the allocator has handed on, and an earlier owner's work isn't done"
                    : bytes + " are accessed by two operations without an order, and one of them writes";
  if (is_handed_on) report.first.name = "memory of an earlier owner";
  if (touch.at_the_call && stream != nullptr && stream->clock.covers(first.component, first.number)) {
    report.why = "the host memory isn't pinned, so the copy may read it at the call, before the stream's earlier work";
    report.mend = a + ": synchronize() before the copy (or a HostBuffer instead of pageable memory)";
  } else if (stream == nullptr) {
    report.why = "the host has not waited for " + a + " since";
    report.mend = a + ": synchronize() before the " + report.second.operation;
  } else {
    report.why = b + " waits for no event that was recorded on " + a + " behind the first, and the host waited for " +
                 "neither in between";
    report.mend = b + ": wait_event(event recorded on " + a + " behind the " + report.first.operation + ")";
  }
  return report;
}

/// Memory that was given back, and memory of another device.
void Engine::check_life(const Touch& touch, const Stream* stream, std::uint32_t operation, std::vector<Report>& found) {
  const Allocation* const allocation = allocation_at(touch.space, touch.range.begin);
  if (allocation == nullptr) return;
  const bool is_other = touch.allocation != 0 && touch.allocation != allocation->id;
  const bool is_replayed = touch.allocation != 0;
  if (!allocation->is_live || is_other || (is_replayed && allocation->is_kept)) {
    if (is_replayed && !allocation->is_kept && allocation->kind != ANYPLACE_MEMORY_PINNED)
      return;  // the graph keeps it
    Report report;
    report.kind = is_replayed ? "freed-under-graph" : "use-after-free";
    report.place = place_of(stream, touch);
    report.bytes = touch.range.bytes();
    report.what = is_replayed ? "a graph's node uses memory that its owner has freed since"
                              : "memory is used that was freed before";
    report.first = side(allocation->freed, "free", allocation->range, touch.space);
    report.second = side(operation, touch.writes ? "write" : "read", touch.range, touch.space);
    report.why = is_replayed ? "the owner let go of the memory before this launch"
                             : "the address was used after its owner had let go of the memory";
    report.mend = is_replayed ? "keep the buffer until the last launch of the graph"
                              : "keep the buffer until " + report.second.operation + " was submitted";
    found.push_back(std::move(report));
    return;
  }
  if (stream == nullptr || allocation->device == nullptr || allocation->kind != ANYPLACE_MEMORY_DEVICE) return;
  const Device& device = *stream->device;
  const bool is_foreign = allocation->device->backend != device.backend || allocation->device->index != device.index;
  const std::string& name = operations_[operation].name;
  const bool reaches =
      std::find(device.peers.begin(), device.peers.end(), allocation->device->index) != device.peers.end();
  if (!is_foreign || reaches || name.find("kernel") == std::string::npos) return;
  Report report;
  report.kind = "foreign-handle";
  report.place = device.place;
  report.bytes = touch.range.bytes();
  report.what = "a kernel on " + device.place + " gets memory of " + allocation->device->place;
  report.first = side(allocation->made, "allocate", allocation->range, touch.space);
  report.second = side(operation, touch.writes ? "write" : "read", touch.range, touch.space);
  report.why = device.place + " has no access to memory of " + allocation->device->place;
  report.mend = "Device(\"" + device.place + "\").enable_peer_access(Device(\"" + allocation->device->place +
                "\")), or copy the memory";
  found.push_back(std::move(report));
}

std::vector<Report> Engine::check(const std::vector<Touch>& touches, Stream* stream, std::uint32_t operation) {
  std::vector<Report> found;
  std::vector<Conflict> conflicts;
  const Clock& before = stream == nullptr ? host_ : stream->clock;
  const std::uint64_t number = stream == nullptr ? host_number_ + 1 : stream->number;
  for (const Touch& touch : touches) {
    if (touch.range.bytes() == 0) continue;
    check_life(touch, stream, operation, found);
    conflicts.clear();
    const Clock* const writes_before = touch.at_the_call ? &host_ : nullptr;
    const bool wants_unwritten = reports.settings().uninitialized && touch.reads && touch.is_declared;
    shadow(touch.space).look(touch.range, touch.writes, before, writes_before, wants_unwritten, conflicts);
    for (const Conflict& conflict : conflicts) {
      // An operation's own accesses aren't ordered among themselves by anybody.
      const bool is_own = stream != nullptr && conflict.first.component == stream->component &&
                          conflict.first.number == stream->number && !conflict.unwritten;
      if (is_own) continue;
      Report report = race(conflict, touch, stream, operation);
      if (!conflict.unwritten && put_off(report, conflict.first, stream, number)) continue;
      found.push_back(std::move(report));
    }
  }
  return found;
}

Access Engine::access_of(const Touch& touch, const Stream* stream, std::uint32_t operation) {
  Access access;
  access.component = stream == nullptr ? host_component : stream->component;
  const std::uint64_t number = stream == nullptr ? host_number_ : stream->number;
  access.number = number & Access::number_mask;
  access.operation = operation;
  access.submitted = static_cast<std::uint32_t>(stream == nullptr ? ++submissions_ : stream->submitted);
  access.writes = touch.writes ? 1 : 0;
  access.at_the_call = touch.at_the_call ? 1 : 0;
  access.range = touch.range;
  const Allocation* const allocation = allocation_at(touch.space, touch.range.begin);
  access.allocation = allocation == nullptr || !allocation->is_live ? 0 : allocation->id;
  return access;
}

void Engine::remember(const std::vector<Touch>& touches, Stream* stream, std::uint32_t operation) {
  if (stream == nullptr) {
    // What the host does is done before it submits anything else.
    host_.set(host_component, ++host_number_);
    ++host_version_;
  }
  const Clock& before = stream == nullptr ? host_ : stream->clock;
  for (const Touch& touch : touches) {
    if (touch.range.bytes() == 0) continue;
    shadow(touch.space).put(access_of(touch, stream, operation), before);
  }
  sweep_if_large();
}

void Engine::undo(const std::vector<Touch>& touches, const Stream& stream, std::uint64_t first, std::uint64_t last) {
  for (const Touch& touch : touches) {
    shadow(touch.space).filter(touch.range, [&](const Access& access) {
      return access.component != stream.component || access.number < first || access.number > last;
    });
  }
}

namespace {

/// A host function's access is found when it runs, maybe after `other` was submitted, which then is the report's
/// second.
void put_in_order(Report& report, const Access& other) {
  std::swap(report.first, report.second);
  const std::string& a = report.first.stream;
  if (other.at_the_call != 0) {
    report.why = "the host memory isn't pinned, so the copy may read it at the call, before the stream's earlier work";
    report.mend = a + ": synchronize() before the copy (or a HostBuffer instead of pageable memory)";
  } else if (report.second.stream.empty()) {
    report.why = "the host has not waited for " + a + " since";
    report.mend = a + ": synchronize() before the " + report.second.operation;
  } else {
    report.mend = report.second.stream + ": wait_event(event recorded on " + a + " behind the host function)";
  }
}

}  // namespace

std::vector<Report> Engine::host_function_accesses(const std::vector<Touch>& touches, Stream& at,
                                                   std::uint32_t operation) {
  std::vector<Report> found;
  meetings_.settle(at.clock);
  const auto may_come_later = [&](const Access& access) {
    if (access.component == at.component) return true;
    if (!access.is_after(at.submitted)) return false;
    return std::any_of(streams_.begin(), streams_.end(), [&](const StreamPointer& stream) {
      return stream->component == access.component && stream->clock.covers(at.component, at.number);
    });
  };
  for (const Touch& touch : touches) {
    std::vector<Conflict> conflicts;
    shadow(touch.space).look(touch.range, touch.writes, at.clock, nullptr, false, conflicts);
    bool is_newest = true;
    shadow(touch.space).each(touch.range, [&](const Access& access) {
      is_newest = is_newest && at.clock.covers(access.component, access.number);
    });
    for (const Conflict& conflict : conflicts) {
      const bool is_read_early = touch.writes && conflict.first.at_the_call != 0;
      if (!is_read_early && may_come_later(conflict.first)) continue;
      Report report = race(conflict, touch, &at, operation);
      if (conflict.first.is_after(at.submitted)) put_in_order(report, conflict.first);
      if (!put_off(report, conflict.first, &at, at.number)) found.push_back(std::move(report));
    }
    if (is_newest) shadow(touch.space).put(access_of(touch, &at, operation), at.clock);
  }
  return found;
}

// ---- Bounds --------------------------------------------------------------------------------------------------------

void Engine::sweep_if_large() {
  const auto count = [&] {
    std::size_t accesses = 0;
    for (const auto& [space, shadow] : shadows_) accesses += shadow.accesses();
    return accesses;
  };
  if (count() < sweep_at_) return;
  const auto forget = [&](const auto& is_gone) {
    for (auto& [space, shadow] : shadows_) shadow.sweep(is_gone);
  };
  forget([&](const Access& access) { return host_.covers(access.component, access.number); });
  if (count() > most_accesses / 2) {
    // The host waits for nothing, so all may still be pending, and what is older than half of it is given up.
    std::vector<std::uint32_t> ages;
    const auto age = [&](const Access& access) { return static_cast<std::uint32_t>(submissions_) - access.submitted; };
    for (const auto& [space, shadow] : shadows_) {
      shadow.each({0, ~std::uint64_t{0}}, [&](const Access& access) { ages.push_back(age(access)); });
    }
    const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
    std::nth_element(ages.begin(), middle, ages.end());
    forget([&, oldest = *middle](const Access& access) { return age(access) >= oldest; });
    if (!std::exchange(has_forgotten_, true)) {
      std::fprintf(stderr,
                   "anyplace: validate: more than %zu accesses may be pending, because the host waits for none: the "
                   "older half is forgotten\n",
                   most_accesses / 2);
    }
  }
  sweep_at_ = std::clamp<std::size_t>(count() * 2, 4096, most_accesses);
}

void Engine::forget_operations_if_many() {
  if (operations_.size() - free_operations_.size() < forget_operations_at_) return;
  std::vector<bool> is_used(operations_.size(), false);
  for (const auto& [space, shadow] : shadows_) {
    shadow.each({0, ~std::uint64_t{0}}, [&](const Access& access) { is_used[access.operation] = true; });
  }
  std::erase_if(known_operations_, [&](const auto& known) {
    const std::uint32_t number = known.second;
    // Those without a stream are few: there is one for each site.
    if (is_used[number] || operations_[number].stream_id == 0) return false;
    operations_[number] = {};
    free_operations_.push_back(number);
    return true;
  });
  forget_operations_at_ = std::max<std::size_t>(16384, 2 * (operations_.size() - free_operations_.size()));
}

std::string Engine::statistics() const {
  std::size_t accesses = 0, bytes = 0, allocations = 0;
  for (const auto& [space, shadow] : shadows_) {
    accesses += shadow.accesses();
    bytes += shadow.bytes();
  }
  for (const auto& [space, all] : allocations_) allocations += all.size();
  const auto member = [](const char* name, std::size_t number) {
    return std::string("\"") + name + "\":" + std::to_string(number);
  };
  return "{" + member("accesses", accesses) + "," + member("access_bytes", bytes) + "," +
         member("operations", operations_.size() - 1 - free_operations_.size()) + "," +
         member("allocations", allocations) + "," + member("streams", streams_.size()) + "}";
}

// ---- Reports -------------------------------------------------------------------------------------------------------

std::string Engine::publish(std::vector<Report> found) {
  std::string first;
  for (Report& report : found) {
    const Report copy = report;
    if (!reports.add(std::move(report))) continue;
    if (first.empty()) first = reports.message_of(copy);
  }
  return reports.settings().mode == Mode::refuse ? first : std::string();
}

}  // namespace anyplace::validate
