// SPDX-License-Identifier: Apache-2.0
#include "memory/capture_frees.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "streams/capture.h"
#include "streams/node_addresses.h"

namespace anyplace::detail {

void dispose_list(BufferState* list) noexcept {
  while (list != nullptr) {
    BufferState* const next = std::exchange(list->next, nullptr);
    BufferState::dispose(list);
    list = next;
  }
}

namespace {

bool has_stream_of(const Capture& capture, const BufferState& buffer) noexcept {
  const auto is_in = [&](const Pin<StreamState>& stream) { return stream && stream->capture.get() == &capture; };
  return is_in(buffer.home) || std::any_of(buffer.uses.begin(), buffer.uses.end(), is_in);
}

/// Whether a present node of the capture names the memory; true also if there is no memory to find out.
bool names(Capture& capture, const BufferState& buffer) noexcept {
  try {
    const std::vector<anyplace_address> addresses = addresses_of(capture.list, capture.looked_at);
    capture.named.insert(addresses.begin(), addresses.end());
    capture.looked_at = capture.list.nodes.size();
  } catch (const std::bad_alloc&) {
    return true;
  }
  const auto at = capture.named.lower_bound(buffer.address);
  return at != capture.named.end() && *at - buffer.address < buffer.bytes;
}

}  // namespace

bool keep_for_capture(std::unique_ptr<BufferState>& buffer) noexcept {
  const std::lock_guard lock(captures().mutex);
  for (const std::shared_ptr<Capture>& capture : captures().active) {
    if (!has_stream_of(*capture, *buffer) && !names(*capture, *buffer)) continue;
    buffer->next = std::exchange(capture->freed, buffer.get());
    capture->dispose_freed = dispose_list;
    static_cast<void>(buffer.release());
    return true;
  }
  return false;
}

}  // namespace anyplace::detail
