// SPDX-License-Identifier: Apache-2.0
//
// Host functions of streams: each is wrapped, so that it runs with its stream known; and those of the core's own, which
// say before what they do. graphs.h has the graphs'.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "objects.h"

namespace anyplace::validate {

/// A host function on its way, with its stream as it was at the submission. It destroys itself when it has run.
struct HostFunction {
  anyplace_host_function function;
  void* user;
  std::unique_ptr<Stream> at;
  bool is_held = false;  ///< it lets the program's other threads go on first

  static void run(void* self, anyplace_status status);
};

/// Whether the run of a host function that is `number`-th of its kind, from 1, lets other threads go on first. A race
/// shows at the first ones, and the later ones aren't slower. In virtual time the others have gone on already.
constexpr bool is_held(std::uint64_t number, const Device& device) { return number <= 8 && !device.is_in_virtual_time; }

/// What a host function of the core's own does: `copy` is null when it is withdrawn. Thread-safe.
void tell_own_function(void* user, const anyplace_copy_2d* copy);
/// Returns what was told of the function, once. The caller holds the engine's mutex.
std::optional<anyplace_copy_2d> take_own_function(void* user);

}  // namespace anyplace::validate
