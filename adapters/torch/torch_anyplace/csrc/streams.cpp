// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <anyplace/anyplace.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "errors.h"

namespace anyplace_torch {

namespace {

constexpr std::size_t kPoolSize = 32;

struct Pool {
  std::array<anyplace::Stream, kPoolSize> streams;
  std::size_t next = 0;
};

}  // namespace

anyplace::StreamView view_of(const c10::Stream& stream) {
  TORCH_CHECK(stream.device_type() == c10::DeviceType::PrivateUse1, "a stream of ", stream.device(),
              " is none of anyplace's");
  if (stream.id() == 0) return place(stream.device_index()).default_stream;
  return anyplace::StreamView(static_cast<std::uint64_t>(stream.id()));
}

c10::Stream stream_of(c10::DeviceIndex index, anyplace::StreamView view) {
  const bool is_default = view == place(index).default_stream;
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, index),
                     is_default ? 0 : static_cast<c10::StreamId>(view.id()));
}

anyplace::StreamView current_view(c10::DeviceIndex index) {
  return call([&] { return anyplace::current_stream(place(index).device); });
}

c10::Stream exchange_current(const c10::Stream& stream) {
  const c10::Stream before = stream_of(stream.device_index(), current_view(stream.device_index()));
  call([&] { anyplace::set_current_stream(view_of(stream)); });
  return before;
}

c10::Stream stream_from_pool(c10::DeviceIndex index, int priority) {
  static std::mutex lock;
  static auto& pools = *new std::map<std::pair<c10::DeviceIndex, int>, Pool>;  // never destroyed, as the header says
  const anyplace::Device& device = place(index).device;
  return call([&] {
    const auto range = device.priority_range();
    const int level = std::clamp(priority, range.greatest, range.least);
    const std::lock_guard guard(lock);
    Pool& pool = pools[{index, level}];
    anyplace::Stream& stream = pool.streams[pool.next];
    if (!stream) stream = anyplace::Stream(device, {.priority = level});
    pool.next = (pool.next + 1) % kPoolSize;
    return stream_of(index, stream);
  });
}

int highest_priority(c10::DeviceIndex index) {
  return call([&] { return place(index).device.priority_range().greatest; });
}

}  // namespace anyplace_torch
