// SPDX-License-Identifier: Apache-2.0
//
// Streams and events as Paddle holds them. A C_Stream is the number of an anyplace stream, no address: using one that
// was destroyed is an error with a text, as it is in anyplace, and never a crash. The tables here own what the numbers
// name.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <anyplace/event.h>
#include <anyplace/stream.h>

#include "paddle/phi/backends/device_ext.h"

namespace anyplace_paddle {

/// Owns handles by their numbers. Any thread may call it.
template <class Owner>
class HandleTable {
 public:
  std::uint64_t add(Owner owner) {
    const std::uint64_t id = owner.id();
    const std::lock_guard lock(mutex_);
    owners_.emplace(id, std::move(owner));
    return id;
  }
  /// Destroys it, outside the lock. False if no such handle is there.
  bool remove(std::uint64_t id) {
    std::unique_lock lock(mutex_);
    auto node = owners_.extract(id);
    lock.unlock();
    return !node.empty();
  }

  /// Calls `visit` with each of them, under the lock: none is destroyed meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, owner] : owners_) visit(owner);
  }

 private:
  std::mutex mutex_;  ///< guards owners_
  std::unordered_map<std::uint64_t, Owner> owners_;
};

/// Those of the process; never destroyed, since Paddle calls until its own end.
HandleTable<anyplace::Stream>& streams();
HandleTable<anyplace::Event>& events();

inline C_Stream to_paddle(anyplace::StreamView stream) noexcept {
  return reinterpret_cast<C_Stream>(static_cast<std::uintptr_t>(stream.id()));
}
inline C_Event to_paddle(anyplace::EventView event) noexcept {
  return reinterpret_cast<C_Event>(static_cast<std::uintptr_t>(event.id()));
}
inline anyplace::EventView event_of(C_Event event) noexcept {
  return anyplace::EventView(reinterpret_cast<std::uintptr_t>(event));
}
/// Null stands for the device's null stream.
inline anyplace::StreamView stream_of(const anyplace::Device& device, C_Stream stream) {
  return stream == nullptr ? device.default_stream() : anyplace::StreamView(reinterpret_cast<std::uintptr_t>(stream));
}

}  // namespace anyplace_paddle
