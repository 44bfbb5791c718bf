// SPDX-License-Identifier: Apache-2.0
//
// The allocator's memory from a device's own entries: of the kind DEVICE, and virtual memory where the device has it.
// Calls nothing of the backend before it is first asked for something.
#pragma once

#include <memory>

#include "source.h"

namespace anyplace::detail {

struct DeviceState;

/// The device lives as long as the process, and so may the source. What can't be given back goes to the error handler;
/// of a lost device nothing is said. A DEVICE_LOST marks the device lost.
std::unique_ptr<MemorySource> make_table_source(DeviceState& device);

}  // namespace anyplace::detail
