// SPDX-License-Identifier: Apache-2.0
// The pool of helper streams of each device.
#include "streams/helper_streams.h"

#include "runtime/layer_notes.h"

namespace anyplace::detail {

HelperStreams* make_helper_streams(DeviceState& /*device*/) { return new HelperStreams; }

HelperStream take_helper_stream(DeviceState& device, const char* operation) {
  HelperStreams& helpers = *device.helper_streams;
  {
    const std::lock_guard lock(helpers.mutex);
    // There is room for a stream to come back, so that giving one back never allocates.
    helpers.idle.reserve(HelperStreams::max_idle);
    if (!helpers.idle.empty()) {
      Pin<StreamState> taken = std::move(helpers.idle.back());
      helpers.idle.pop_back();
      return HelperStream(std::move(taken));
    }
  }
  const CoreCalls scope;
  const std::uint64_t id = make_stream(device, 0, false, operation);
  return HelperStream(streams().pin(id, operation));
}

void drop_idle_helper_streams(DeviceState& device) noexcept {
  HelperStreams& helpers = *device.helper_streams;
  for (;;) {
    Pin<StreamState> ended;
    {
      const std::lock_guard lock(helpers.mutex);
      if (helpers.idle.empty()) return;
      ended = std::move(helpers.idle.back());
      helpers.idle.pop_back();
    }
    streams().close(ended->id);
  }
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

}  // namespace anyplace::detail
