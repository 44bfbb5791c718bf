// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include <new>

namespace anyplace::faults {

using backend::Kind;

std::optional<Object> Objects::find(Kind kind, std::uint64_t handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find({kind, handle});
  if (found == objects_.end()) return std::nullopt;
  return found->second;
}

void Objects::add(Kind kind, std::uint64_t handle, std::int32_t device) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    objects_[{kind, handle}] = Object{device};
  } catch (const std::bad_alloc&) {
  }
}

void Objects::add_stream(std::uint64_t handle, std::int32_t device, std::uint64_t id, bool is_default) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    const std::uint64_t number = is_default ? 0 : ++streams_made_[device];
    objects_[{Kind::STREAM, handle}] = Object{device, number, id};
  } catch (const std::bad_alloc&) {
  }
}

void Objects::remove(Kind kind, std::uint64_t handle) noexcept {
  const std::lock_guard lock(mutex_);
  objects_.erase({kind, handle});
}

std::map<std::string, std::uint64_t> Objects::live() const {
  const std::map<Kind, const char*> names{
      {Kind::STREAM, "streams"},    {Kind::EVENT, "events"}, {Kind::GATE, "gates"},         {Kind::MODULE, "modules"},
      {Kind::PHYSICAL, "physical"}, {Kind::GRAPH, "graphs"}, {Kind::ADDRESS, "allocations"}};
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [kind, name] : names) counts[name] = 0;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, object] : objects_) {
    const auto name = names.find(key.first);
    const bool is_default = key.first == Kind::STREAM && object.stream == 0;
    if (name != names.end() && !is_default) ++counts[name->second];
  }
  return counts;
}

void Objects::lose(std::int32_t device, const std::string& rule) {
  const std::lock_guard lock(mutex_);
  lost_.emplace(device, rule);
}

std::string Objects::lost_by(std::int32_t device) const {
  const std::lock_guard lock(mutex_);
  const auto found = lost_.find(device);
  return found == lost_.end() ? std::string() : found->second;
}

}  // namespace anyplace::faults
