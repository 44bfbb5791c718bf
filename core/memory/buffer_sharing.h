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

/// The process that owns the memory has one for each buffer that it exported.
struct BufferExport {
  BufferExport(const std::string& place, const char* operation) : room(operation), share(place, operation) {}
  ServiceRoom room;
  Share share;
  anyplace_ipc_handle handle{};
};

/// Another process has one for each buffer that it imported.
struct BufferImport {
  explicit BufferImport(const char* operation) : room(operation) {}
  ServiceRoom room;
  SharedUse use;
  OpenMemory* open = nullptr;
};

/// Says whether collect_shared_buffers() waits for other threads that are in it: the buffers that those have taken out
/// are missed otherwise.
enum class Others { missed, waited_for };

/// Frees the buffers, of all devices, that were kept for other processes and that none has open any more. Returns how
/// many bytes of `device` are still kept. Must not be called inside callbacks.
std::uint64_t collect_shared_buffers(DeviceState& device, Others others = Others::missed) noexcept;

/// Returns whether any buffers are kept for other processes. They may be another device's, because there is one list
/// for all.
bool keeps_shared_buffers(const DeviceState& device) noexcept;

}  // namespace anyplace::detail
