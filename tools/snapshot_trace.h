// SPDX-License-Identifier: Apache-2.0
//
// The trace in a memory snapshot: what torch.cuda.memory._snapshot() gives, as pickle wrote it, and what
// anyplace::dump_memory_snapshot writes. Of a device's history the events alloc and free_completed are taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace.h"

namespace anyplace::tool {

/// `device` is the index in device_traces; without it, the only one that has events. Frees of what was allocated before
/// the history began are left out, and counted. Throws PickleError and InputError, both without the file's name.
Trace trace_of_snapshot(std::string file, std::optional<std::uint32_t> device);

}  // namespace anyplace::tool
