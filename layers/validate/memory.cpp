// SPDX-License-Identifier: Apache-2.0
//
// What the engine knows of memory: whose it is, and when it is given back and handed on.
//
// Memory that is given back keeps the accesses that only its own stream orders: the next owner gets it at once, and its
// work on another stream has to come after them. Those of streams that were named with record_stream are done before
// anybody gets the memory, and are forgotten.
#include <algorithm>
#include <set>
#include <utility>

#include "engine.h"

namespace anyplace::validate {
namespace {

const char* kind_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case ANYPLACE_MEMORY_PINNED:
      return "HostBuffer";
    case ANYPLACE_MEMORY_MANAGED:
      return "managed Buffer";
    case 0:
      return "registered memory";
    default:
      return "Buffer";
  }
}

/// Takes what overlaps the range out of the map.
void erase_overlapping(std::map<std::uint64_t, Allocation>& all, const Range& range) {
  auto at = all.upper_bound(range.begin);
  if (at != all.begin() && std::prev(at)->second.range.end > range.begin) --at;
  while (at != all.end() && at->first < range.end) at = all.erase(at);
}

}  // namespace

Allocation* Engine::allocation_at(Space space, std::uint64_t address) {
  std::map<std::uint64_t, Allocation>& all = allocations(space);
  auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  Allocation& found = std::prev(after)->second;
  return address < found.range.end ? &found : nullptr;
}

Space Engine::space_of(const Device& device, std::uint64_t address) {
  if (device.space == 0) return 0;
  const Allocation* const host = allocation_at(0, address);
  return host != nullptr && host->is_live ? 0 : device.space;
}

void Engine::take(Device& device, const anyplace_layer_memory& memory, std::uint32_t operation) {
  Allocation made;
  made.id = ++last_allocation_;
  made.space = memory.kind == ANYPLACE_MEMORY_DEVICE ? device.space : 0;
  made.range = {memory.address, memory.address + memory.bytes};
  made.kind = memory.kind;
  made.device = &device;
  made.home = stream_of(memory.stream);
  made.made = operation;
  made.name = std::string(kind_name(memory.kind)) + " " + std::to_string(++names_[memory.kind]) + " of " +
              std::to_string(memory.bytes) + " bytes";
  std::map<std::uint64_t, Allocation>& all = allocations(made.space);
  // The allocator gives memory of another stream only when that stream's work is done.
  const Component home = made.home == nullptr ? host_component : made.home->component;
  const std::set<std::uint32_t> before = [&] {
    std::set<std::uint32_t> ids;
    auto at = all.upper_bound(made.range.begin);
    if (at != all.begin()) --at;
    for (; at != all.end() && at->first < made.range.end; ++at) {
      const Allocation& old = at->second;
      const Component old_home = old.home == nullptr ? host_component : old.home->component;
      if (old.range.overlaps(made.range) && old_home == home) ids.insert(old.id);
    }
    return ids;
  }();
  shadow(made.space).filter(made.range, [&](const Access& access) { return before.contains(access.allocation); });
  erase_overlapping(all, made.range);
  if (reports.settings().uninitialized) shadow(made.space).mark_unwritten(made.range);
  all.emplace(made.range.begin, std::move(made));
}

std::vector<Report> Engine::give_back(Device& device, const anyplace_layer_memory& memory, std::uint32_t operation) {
  std::vector<Report> found;
  const Space space = memory.kind == ANYPLACE_MEMORY_DEVICE ? device.space : 0;
  Allocation* const allocation = allocation_at(space, memory.address);
  if (allocation == nullptr || !allocation->is_live || allocation->range.begin != memory.address) return found;
  // A free that names another size or stream is refused by the allocator.
  const bool is_its = allocation->range.bytes() == memory.bytes &&
                      (allocation->home == nullptr || allocation->home->cookie == memory.stream);
  if (!is_its) return found;
  if (memory.is_kept != 0) {
    allocation->is_kept = true;
    allocation->freed = operation;
    return found;
  }
  Clock done = host_;
  if (allocation->home != nullptr) done.join(allocation->home->clock);
  Clock named = done;
  for (std::uint32_t i = 0; i < memory.user_count; ++i) {
    if (const StreamPointer user = stream_of(memory.users[i])) named.join(user->clock);
  }
  std::vector<Access> told;
  const auto look = [&](const Access& access) {
    if (named.covers(access.component, access.number) || operations_[access.operation].by_graph) return;
    if (access.allocation != allocation->id) return;
    if (std::any_of(told.begin(), told.end(), [&](const Access& other) { return other.same_as(access); })) return;
    told.push_back(access);
    Report report;
    report.kind = "use-after-free";
    report.place = device.place;
    report.bytes = access.range.bytes();
    report.what = "memory is freed while work of a stream that wasn't named may use it";
    report.first = side(access.operation, access.writes != 0 ? "write" : "read", access.range, space);
    report.second = side(operation, "free", allocation->range, space);
    if (allocation->home != nullptr) {
      report.second.stream = allocation->home->name;
      report.second.stream_id = allocation->home->cookie;
    }
    report.why = "the memory is handed on in the order of its own stream, which doesn't wait for " +
                 report.first.stream + ", and record_stream didn't name that stream";
    report.mend = "buffer.record_stream(" + report.first.stream + ") before the buffer is destroyed";
    found.push_back(std::move(report));
  };
  shadow(space).each(allocation->range, look);
  shadow(space).filter(allocation->range, [&](const Access& access) {
    return done.covers(access.component, access.number) && !host_.covers(access.component, access.number);
  });
  allocation->is_live = false;
  allocation->is_kept = false;
  allocation->freed = operation;
  std::map<std::uint64_t, Allocation>& all = allocations(space);
  if (all.size() > drop_dead_at_) {
    std::erase_if(all, [](const auto& one) { return !one.second.is_live; });
    drop_dead_at_ = std::max<std::size_t>(20000, 2 * all.size());
  }
  return found;
}

void Engine::register_host(Device& device, const Range& range, std::uint32_t operation) {
  Allocation made;
  made.id = ++last_allocation_;
  made.range = range;
  made.device = &device;
  made.made = operation;
  made.name =
      std::string(kind_name(0)) + " " + std::to_string(++names_[0]) + " of " + std::to_string(range.bytes()) + " bytes";
  erase_overlapping(allocations(0), range);
  allocations(0).emplace(range.begin, std::move(made));
}

std::vector<Report> Engine::unregister_host(std::uint64_t address, std::uint32_t operation) {
  std::vector<Report> found;
  std::map<std::uint64_t, Allocation>& all = allocations(0);
  const auto registered = all.find(address);
  if (registered == all.end() || registered->second.kind != 0) return found;
  const Allocation& allocation = registered->second;
  shadow(0).each(allocation.range, [&](const Access& access) {
    if (host_.covers(access.component, access.number) || !found.empty()) return;
    Report report;
    report.kind = "use-after-free";
    report.place = allocation.device->place;
    report.bytes = access.range.bytes();
    report.what = "the registration of host memory ends while work may use the memory";
    report.first = side(access.operation, access.writes != 0 ? "write" : "read", access.range, 0);
    report.second = side(operation, "free", allocation.range, 0);
    report.why = "the host has not waited for " + report.first.stream + " since";
    report.mend = report.first.stream + ": synchronize() before the HostRegistration ends";
    found.push_back(std::move(report));
  });
  all.erase(registered);
  return found;
}

void Engine::reset(const Device& device, std::uint32_t operation) {
  for (auto& [space, all] : allocations_) {
    for (auto& [begin, allocation] : all) {
      if (allocation.device != &device || !allocation.is_live || allocation.kind != ANYPLACE_MEMORY_DEVICE) continue;
      allocation.is_live = false;
      allocation.freed = operation;
      shadows_[space].forget(allocation.range);
    }
  }
  host_saw(clock_of(device));
}

void Engine::add_raw(std::uint64_t begin, std::uint64_t bytes) {
  raw_[begin] = bytes;
  std::erase_if(allocations(0), [&](const auto& one) {
    return !one.second.is_live && one.second.range.overlaps({begin, begin + bytes});
  });
}

void Engine::remove_raw(Space space, std::uint64_t begin) {
  if (space == 0) raw_.erase(begin);
}

void Engine::give_up(Space space, const Range& range) {
  std::map<std::uint64_t, Allocation>& all = allocations(space);
  auto at = all.upper_bound(range.begin);
  if (at != all.begin()) --at;
  for (; at != all.end() && at->first < range.end; ++at) {
    Allocation& allocation = at->second;
    if (!allocation.is_live && allocation.range.overlaps(range)) allocation.is_given_up = true;
  }
  shadow(space).forget(range);
}

bool Engine::host_touch(const Device& device, const Range& range, bool writes, std::vector<Touch>& out) {
  Touch touch;
  touch.range = range;
  touch.writes = writes;
  touch.reads = !writes;
  touch.is_declared = true;
  const Allocation* allocation = allocation_at(0, range.begin);
  if (allocation != nullptr && !allocation->is_live && allocation->is_given_up) {
    // On a simulator the host's own allocator may have the memory now.
    allocations(0).erase(allocation->range.begin);
    allocation = nullptr;
  }
  const bool is_pinned = allocation != nullptr && allocation->device->backend == device.backend;
  if (allocation == nullptr) {
    const auto after = raw_.upper_bound(range.begin);
    if (after != raw_.begin() && std::prev(after)->first + std::prev(after)->second > range.begin) return false;
  }
  touch.at_the_call = !writes && !is_pinned && !device.reads_pageable_in_order;
  out.push_back(touch);
  return true;
}

std::vector<Report> Engine::leaks(const void* backend) {
  std::vector<Report> found;
  for (const auto& [space, all] : allocations_) {
    for (const auto& [begin, allocation] : all) {
      if (!allocation.is_live || allocation.kind == 0 || allocation.device->backend != backend) continue;
      Report report;
      report.kind = "leak";
      report.place = allocation.device->place;
      report.bytes = allocation.range.bytes();
      report.what = allocation.name + " was never freed";
      report.first = side(allocation.made, "allocate", allocation.range, space);
      report.mend = "destroy the " + std::string(kind_name(allocation.kind)) + " before the process exits";
      found.push_back(std::move(report));
    }
  }
  return found;
}

bool Engine::has_memory_of(const Stream& stream) const {
  return std::any_of(allocations_.begin(), allocations_.end(), [&](const auto& space) {
    return std::any_of(space.second.begin(), space.second.end(),
                       [&](const auto& one) { return one.second.is_live && one.second.home.get() == &stream; });
  });
}

Report Engine::leak_of_handle(const Device& device, std::string_view what, std::uint32_t made) {
  Report report;
  report.kind = "leak";
  report.place = device.place;
  report.what = std::string(what) + " was never destroyed";
  report.first = side(made, "", {}, 0);
  report.mend = "destroy it before the process exits";
  return report;
}

}  // namespace anyplace::validate
