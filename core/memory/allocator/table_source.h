// SPDX-License-Identifier: Apache-2.0
//
// The source over a device's own entries: memory of the kind DEVICE, and virtual memory where the device has it. It
// calls no entry before its first request.
#pragma once

#include <memory>

#include "memory/allocator/source.h"

namespace anyplace::detail {

struct DeviceState;

/// The device lives as long as the process, and so may the source. A failure to give memory back goes to the error
/// handler, unless the device is lost. DEVICE_LOST from an entry marks the device as lost.
std::unique_ptr<MemorySource> make_table_source(DeviceState& device);

}  // namespace anyplace::detail
