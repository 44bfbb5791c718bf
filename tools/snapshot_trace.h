// SPDX-License-Identifier: Apache-2.0
//
// Makes a trace of a memory snapshot: a pickle of what torch.cuda.memory._snapshot() returns, or a file that
// anyplace::write_memory_snapshot wrote. It takes the events alloc and free_completed of one device's history.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trace.h"

namespace anyplace::tool {

/// `device` is the index in device_traces; without it, the only one that has events. Frees of memory that was allocated
/// before the history began are left out, and counted. Throws PickleError and InputError, both without the file's name.
Trace trace_of_snapshot(std::string file, std::optional<std::uint32_t> device);

}  // namespace anyplace::tool
