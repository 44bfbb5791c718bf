// SPDX-License-Identifier: Apache-2.0
// The pool of helper streams of each device.
#include "helper_streams.h"

#include <memory>

#include "service.h"

namespace anyplace::detail {

HelperStreams* make_helper_streams(DeviceState& /*device*/) { return new HelperStreams; }

HelperStream take_helper_stream(DeviceState& device, const char* operation) {
  HelperStreams& helpers = *device.helper_streams;
  {
    const std::lock_guard lock(helpers.mutex);
    // Room for one to come back, so that giving back never allocates.
    helpers.idle.reserve(HelperStreams::max_idle);
    if (!helpers.idle.empty()) {
      Pin<StreamState> taken = std::move(helpers.idle.back());
      helpers.idle.pop_back();
      return HelperStream(std::move(taken));
    }
  }
  const std::uint64_t id = make_stream(device, 0, false, operation);
  return HelperStream(streams().pin(id, operation));
}

void HelperStream::reset() noexcept {
  if (!stream_) return;
  HelperStreams& helpers = *stream_->device->helper_streams;
  {
    const std::lock_guard lock(helpers.mutex);
    if (helpers.idle.size() < HelperStreams::max_idle) {
      helpers.idle.push_back(std::move(stream_));
      return;
    }
  }
  streams().close(stream_->id);
  stream_.reset();
}

void HelperStream::reset_when_idle() noexcept {
  if (!stream_) return;
  // std::function copies; the stream has one owner.
  const auto shared = std::make_shared<HelperStream>(std::move(*this));
  poll_in_service([shared] {
    StreamState& stream = **shared;
    std::int32_t done = 0;
    const bool over =
        stream.device->lost.load(std::memory_order_relaxed) ||
        stream.device->table->stream_query(stream.device->self, stream.handle, &done) != ANYPLACE_STATUS_OK;
    if (!over && done == 0) return false;
    shared->reset();
    return true;
  });
}

}  // namespace anyplace::detail
