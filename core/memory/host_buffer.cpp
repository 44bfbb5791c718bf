// SPDX-License-Identifier: Apache-2.0
//
// HostBuffer and HostRegistration: host memory that a device reaches directly. A HostBuffer's memory comes from the
// device's pool (allocator/host_pool.h), which doesn't reuse it while copies use it (host_ranges.h). Registered memory
// belongs to the user, who promises that copies of it are done when the registration ends.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "anyplace/memory.h"
#include "anyplace/stream.h"
#include "memory/address_book.h"
#include "memory/host_pool.h"
#include "memory/host_ranges.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "streams/captured.h"
#include "streams/stream_state.h"

namespace anyplace {

namespace {

constexpr const char* release_registration = "~HostRegistration";
constexpr auto registrations = detail::DeviceAddresses::List::registrations;

void unregister(detail::DeviceState& device, void* data) noexcept {
  if (!detail::backends_callable()) return;
  const anyplace_status status = device.table->host_unregister(device.self, device.index, data);
  detail::check_given_back(status, device, release_registration);
}

}  // namespace

HostBuffer::HostBuffer(const Device& device, std::uint64_t bytes) : state_(device.state()) {
  constexpr const char* operation = "HostBuffer";
  detail::enter(operation);
  detail::require_usable(*state_, operation);
  detail::require_capability(*state_, Capability::pinned_memory, operation);
  if (bytes == 0) return;
  const anyplace_address address = state_->host_pool->allocate(bytes, operation);
  data_ = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
  bytes_ = static_cast<std::size_t>(bytes);
  if (detail::layers_listen()) detail::note_memory_taken(*state_, detail::pinned_memory(address, bytes));
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      state_(std::exchange(other.state_, nullptr)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

HostBuffer::~HostBuffer() { release(); }

void HostBuffer::release() noexcept {
  void* const data = std::exchange(data_, nullptr);
  bytes_ = 0;
  if (data == nullptr || !detail::process_running()) return;
  state_->host_pool->free(reinterpret_cast<std::uintptr_t>(data));
}

void HostBuffer::record_stream(const StreamView& stream) const {
  constexpr const char* operation = "HostBuffer::record_stream";
  detail::enter(operation);
  const detail::Pin<detail::StreamState> user = detail::streams().pin(stream.id(), operation);
  if (data_ == nullptr) return;
  detail::host_ranges().note_use(reinterpret_cast<std::uintptr_t>(data_), *user, operation);
}

HostRegistration::HostRegistration(const Device& device, HostSpan memory) : state_(device.state()) {
  constexpr const char* operation = "HostRegistration";
  detail::enter(operation);
  detail::require_usable(*state_, operation);
  detail::require_capability(*state_, Capability::host_register, operation);
  if (memory.size_bytes() == 0) return;
  if (memory.data() == nullptr) {
    detail::fail(ErrorCode::invalid_argument, state_->place, operation,
                 fmt::format("the host pointer is null, with {} bytes to register", memory.size_bytes()));
  }
  detail::refuse_unsafe_call(*state_, operation);
  detail::make_service_room(operation);  // its end may be handed over to the service thread
  const anyplace_status status =
      state_->table->host_register(state_->self, state_->index, memory.data(), memory.size_bytes());
  if (status != ANYPLACE_STATUS_OK) detail::give_service_room();
  detail::check(status, *state_, operation);
  data_ = memory.data();
  bytes_ = memory.size_bytes();
  try {
    state_->addresses->add(registrations, AddressKind::registered, reinterpret_cast<std::uintptr_t>(data_), bytes_);
  } catch (...) {
    release();
    throw;
  }
}

HostRegistration::HostRegistration(HostRegistration&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      state_(std::exchange(other.state_, nullptr)) {}

HostRegistration& HostRegistration::operator=(HostRegistration&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    state_ = std::exchange(other.state_, nullptr);
  }
  return *this;
}

HostRegistration::~HostRegistration() { release(); }

void HostRegistration::release() noexcept {
  void* const data = std::exchange(data_, nullptr);
  if (data == nullptr || !detail::process_running()) return;
  detail::give_service_room();
  detail::DeviceState* const device = state_;
  device->addresses->remove(registrations, reinterpret_cast<std::uintptr_t>(data), std::exchange(bytes_, 0));
  if (detail::in_callback()) {
    detail::post_to_service([device, data] { unregister(*device, data); });
  } else {
    unregister(*device, data);
  }
}

}  // namespace anyplace
