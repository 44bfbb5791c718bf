// SPDX-License-Identifier: Apache-2.0
#include "storage.h"

namespace anyplace_ur {

Storage::Storage(ur_context_handle_t_& context, std::size_t size, void* host, Host kind)
    : context_(context), size_(size), host_(host), kind_(kind), host_current_(host != nullptr) {
  // At the start, so that who makes the buffer is told that there is no memory for it.
  if (host == nullptr && context.devices.size() == 1) place_on(context.devices.front());
}

Storage::Place& Storage::place_on(ur_device_handle_t device) {
  Place& place = places_[device];
  if (!place.buffer) place.buffer = anyplace::Buffer(device->service(), size_);
  return place;
}

void Storage::bring_up_to_date(Place& place, anyplace::StreamView stream) {
  if (place.current) return;
  const anyplace::Address to(place.buffer.address());
  if (host_current_) {
    stream.copy(to, anyplace::Address(host_), size_);
  } else {
    for (auto& [device, other] : places_) {
      if (!other.current) continue;
      other.buffer.record_stream(stream);
      stream.copy(to, anyplace::Address(other.buffer.address()), size_);
      break;
    }
  }
  place.current = true;
}

void Storage::note_write(const Place* written) {
  host_current_ = written == nullptr;
  for (auto& [device, place] : places_) place.current = &place == written;
}

anyplace::Address Storage::for_copies(ur_device_handle_t device, anyplace::StreamView stream, Access access) {
  const std::lock_guard lock(mutex_);
  const auto known = places_.find(device);
  const bool on_host = host_current_ && (known == places_.end() || !known->second.current);
  if (on_host) {
    if (access == Access::write) note_write(nullptr);
    return anyplace::Address(host_);
  }
  Place& place = place_on(device);
  bring_up_to_date(place, stream);
  place.buffer.record_stream(stream);
  if (access == Access::write) note_write(&place);
  return anyplace::Address(place.buffer.address());
}

std::uint64_t Storage::for_kernels(ur_device_handle_t device, anyplace::StreamView stream, Access access) {
  if (kind_ == Host::pinned) return reinterpret_cast<std::uintptr_t>(host_);
  const std::lock_guard lock(mutex_);
  Place& place = place_on(device);
  bring_up_to_date(place, stream);
  place.buffer.record_stream(stream);
  if (access == Access::write) note_write(&place);
  return place.buffer.address();
}

void Storage::initialise(const void* from) {
  const std::lock_guard lock(mutex_);
  const ur_device_handle_t device = context_.devices.front();
  Place& place = place_on(device);
  device->service().copy(place.buffer, {from, size_});
  device->service().synchronize();
  note_write(&place);
}

void Storage::adopt(ur_device_handle_t device, std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  Place& place = places_[device];
  place.buffer = anyplace::Buffer::from_native(device->device, address, size_);
  note_write(&place);
}

}  // namespace anyplace_ur
