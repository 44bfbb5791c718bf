// SPDX-License-Identifier: Apache-2.0
//
// Host functions of streams: each is wrapped, so that it runs with its stream known; and those of the core's own, which
// say before what they do. graphs.h has the graphs'.
#pragma once

#include <anyplace/backend/abi.h>

#include <memory>
#include <optional>

#include "objects.h"

namespace anyplace::validate {

/// A host function on its way, with its stream as it was at the submission. It destroys itself when it has run.
struct HostFunction {
  anyplace_host_function function;
  void* user;
  std::unique_ptr<Stream> at;

  static void run(void* self, anyplace_status status);
};

/// What a host function of the core's own does: `copy` is null when it is withdrawn. Thread-safe.
void tell_own_function(void* user, const anyplace_copy_2d* copy);
/// Returns what was told of the function, once. The caller holds the engine's mutex.
std::optional<anyplace_copy_2d> take_own_function(void* user);

}  // namespace anyplace::validate
