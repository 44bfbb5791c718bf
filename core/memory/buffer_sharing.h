// SPDX-License-Identifier: Apache-2.0
//
// BufferSharing: the data of a buffer whose memory several processes share.
//
// In the process that owns the memory, a buffer that is freed while others have it open is kept unchanged, and is freed
// when they have closed it or ended. In the other processes, memory in which several buffers lie is opened once, and
// closed when no work uses the last of them.
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

/// Whether to wait for other threads that are in collect_shared_buffers(): the buffers that they have taken out aren't
/// seen otherwise.
enum class Others { missed, waited_for };

/// Frees the buffers of the device that were kept for other processes and that none has open any more. Returns how many
/// bytes are still kept. Must not be called inside callbacks.
std::uint64_t collect_shared_buffers(DeviceState& device, Others others = Others::missed) noexcept;

/// Whether buffers of the device are kept for other processes.
bool keeps_shared_buffers(const DeviceState& device) noexcept;

}  // namespace anyplace::detail
