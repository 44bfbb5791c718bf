// SPDX-License-Identifier: Apache-2.0
//
// The public functions of anyplace/access.h: declarations, which go to the layers that listen and to nobody else.
#include "anyplace/access.h"

#include "runtime/call.h"
#include "runtime/layer_notes.h"

namespace anyplace::detail {

void declare_argument(AccessMode mode, std::uint64_t address, std::uint64_t bytes) {
  note_argument(static_cast<std::uint32_t>(mode), address, bytes);
}

void declare_host_access(AccessMode mode, const void* address, std::uint64_t bytes) {
  if (!layers_listen() || !process_running() || bytes == 0) return;
  const anyplace_status status =
      note_host_access(static_cast<std::uint32_t>(mode), reinterpret_cast<std::uintptr_t>(address), bytes);
  if (status == ANYPLACE_STATUS_OK) return;
  throw error_of(status, take_message(), "", mode == AccessMode::read ? "host_read" : "host_write");
}

}  // namespace anyplace::detail
