// SPDX-License-Identifier: Apache-2.0
//
// BufferExport and BufferImport: what a buffer keeps whose memory more than one process has.
//
// In the process whose memory it is, a buffer that is freed while others have it open is kept whole, as it was when its
// owner let go of it, and is freed when they have closed it or ended. In the others, the memory that several buffers
// lie in is open once, and is closed when no work uses the last of them.
#pragma once

#include <string>

#include "ipc/handle.h"
#include "memory/memory_state.h"
#include "runtime/service.h"

namespace anyplace::detail {

struct OpenMemory;

/// Of the process whose memory it is.
struct BufferExport {
  BufferExport(const std::string& place, const char* operation) : room(operation), share(place, operation) {}
  ServiceRoom room;
  Share share;
  anyplace_ipc_handle handle{};
};

/// Of the others.
struct BufferImport {
  explicit BufferImport(const char* operation) : room(operation) {}
  ServiceRoom room;
  SharedUse use;
  OpenMemory* open = nullptr;
};

/// Other threads that are inside of collect_shared_buffers() have buffers in hand, which this one doesn't see.
enum class Others { missed, waited_for };

/// Frees the buffers of the device that were kept for other processes and that none has open any more. Returns how many
/// bytes are still kept. Not called inside callbacks.
std::uint64_t collect_shared_buffers(DeviceState& device, Others others = Others::missed) noexcept;

/// Whether buffers of the device are kept for other processes.
bool keeps_shared_buffers(const DeviceState& device) noexcept;

}  // namespace anyplace::detail
