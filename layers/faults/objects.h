// SPDX-License-Identifier: Apache-2.0
//
// Which device and which stream a backend's handles are of, which objects there are, and which devices rules have lost.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "rule.h"

namespace anyplace::faults {

/// What is known of a handle.
struct Object {
  std::int32_t device = -1;
  std::uint64_t stream = 0;     ///< of a stream: its number on the device
  std::uint64_t stream_id = 0;  ///< of a stream
};

/// The objects of one backend. Every member may be called from any thread. An object that there is no memory to
/// remember counts as unknown.
class Objects {
 public:
  /// Whether there are objects of that kind here: those with a handle, and what an address was given for.
  static constexpr bool has(backend::Kind kind) noexcept {
    return backend::is_handle(kind) || kind == backend::Kind::ADDRESS;
  }

  std::optional<Object> find(backend::Kind kind, std::uint64_t handle) const;
  void add(backend::Kind kind, std::uint64_t handle, std::int32_t device) noexcept;
  void add_stream(std::uint64_t handle, std::int32_t device, std::uint64_t id, bool is_default) noexcept;
  void remove(backend::Kind kind, std::uint64_t handle) noexcept;

  /// How many there are that somebody has to end, by the names of their kinds. Kernels end with their modules, and
  /// default streams with the backend.
  std::map<std::string, std::uint64_t> live() const;

  /// Marks a device as lost by the rule. The first rule is kept.
  void lose(std::int32_t device, const std::string& rule);
  /// The rule that lost the device; empty if none did.
  std::string lost_by(std::int32_t device) const;

 private:
  mutable std::mutex mutex_;  // guards what follows; a leaf
  std::map<std::pair<backend::Kind, std::uint64_t>, Object> objects_;
  std::map<std::int32_t, std::uint64_t> streams_made_;  // by device
  std::map<std::int32_t, std::string> lost_;            // by device: the rule
};

}  // namespace anyplace::faults
