// SPDX-License-Identifier: Apache-2.0
#include "memory/capture_frees.h"

#include <algorithm>
#include <utility>

#include "streams/capture.h"

namespace anyplace::detail {

void dispose_list(BufferState* list) noexcept {
  while (list != nullptr) {
    BufferState* const next = std::exchange(list->next, nullptr);
    BufferState::dispose(list);
    list = next;
  }
}

bool keep_for_capture(std::unique_ptr<BufferState>& buffer) noexcept {
  const std::lock_guard lock(captures().mutex);
  for (const std::shared_ptr<Capture>& capture : captures().active) {
    const auto is_of_device = [&](const Pin<StreamState>& stream) { return stream->device == buffer->device; };
    if (buffer->host == nullptr && std::none_of(capture->streams.begin(), capture->streams.end(), is_of_device))
      continue;
    buffer->next = std::exchange(capture->freed, buffer.get());
    capture->dispose_freed = dispose_list;
    static_cast<void>(buffer.release());
    return true;
  }
  return false;
}

}  // namespace anyplace::detail
