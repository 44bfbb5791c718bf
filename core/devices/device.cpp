// SPDX-License-Identifier: Apache-2.0
// Device: the public functions over a DeviceState. current.cpp has the current device.
#include "anyplace/device.h"

#include <fmt/format.h>

#include <array>

#include "anyplace/stream.h"
#include "devices/compute_capability.h"
#include "devices/current.h"
#include "devices/resolve.h"
#include "memory/allocator/device_allocator.h"
#include "memory/deferred_free.h"
#include "memory/event_pool.h"
#include "plugins/device_properties.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "streams/captured.h"
#include "streams/device_clock.h"
#include "streams/stream_state.h"

namespace anyplace {

using detail::check;
using detail::DeviceState;
using detail::enter;
using detail::require_usable;

// ---- Capabilities --------------------------------------------------------------------------------------------------

// The boundary's list has the same capabilities as the enum, and no more: the compiler warns where to_string lacks one.
#define ANYPLACE_CAPABILITY_SAME(upper, lower, bit, text) \
  static_assert(static_cast<std::uint32_t>(Capability::lower) == (bit));
ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_SAME)
#undef ANYPLACE_CAPABILITY_SAME

const char* to_string(Capability capability) noexcept {
  switch (capability) {
#define ANYPLACE_CAPABILITY_NAME(upper, lower, bit, text) \
  case Capability::lower:                                 \
    return #lower;
    ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_NAME)
#undef ANYPLACE_CAPABILITY_NAME
  }
  return "unknown";
}

std::span<const Capability> all_capabilities() noexcept {
#define ANYPLACE_CAPABILITY_ITEM(upper, lower, bit, text) Capability::lower,
  static constexpr std::array all{ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_ITEM)};
#undef ANYPLACE_CAPABILITY_ITEM
  return all;
}

// ---- Identity ------------------------------------------------------------------------------------------------------

Device::Device(const Place& place) : state_(nullptr) {
  constexpr const char* operation = "Device::Device";
  enter(operation);
  state_ = &detail::resolve(place, operation);
}

Place Device::place() const { return Place(state_->backend->name, state_->index); }
std::string Device::to_string() const { return state_->place; }
const std::string& Device::backend() const noexcept { return state_->backend->name; }
int Device::index() const noexcept { return state_->index; }

std::strong_ordering operator<=>(const Device& a, const Device& b) noexcept {
  if (a.state_->backend != b.state_->backend) return a.backend().compare(b.backend()) <=> 0;
  return a.state_->index <=> b.state_->index;
}

// ---- Properties ----------------------------------------------------------------------------------------------------
namespace {

std::optional<std::uint64_t> known(std::uint64_t bytes) noexcept {
  return bytes == ANYPLACE_UNKNOWN ? std::nullopt : std::optional(bytes);
}

std::vector<std::string> image_formats_of(std::uint64_t bits) {
  std::vector<std::string> names;
#define ANYPLACE_IMAGE_NAME(upper, lower, number, text) \
  if ((bits >> (number)&1) != 0) names.emplace_back(#lower);
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_NAME)
#undef ANYPLACE_IMAGE_NAME
  return names;
}

/// A number for which 0 means that the vendor can't tell.
template <class Number>
std::optional<Number> told(Number number) {
  return number == 0 ? std::nullopt : std::optional<Number>(number);
}

void add_details(const anyplace_device_properties& from, DeviceProperties& to) {
  to.clock_hz = told(from.clock_hz);
  to.memory_clock_hz = told(from.memory_clock_hz);
  to.l2_cache_bytes = told(from.l2_cache_bytes);
  to.max_allocation = told(from.max_allocation);
  to.memory_bus_bits = told(from.memory_bus_bits);
  to.multiprocessors = told(from.multiprocessors);
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint32_t size = std::uint32_t{1} << bit;
    if ((from.sub_group_sizes & size) != 0) to.sub_group_sizes.push_back(size);
  }
  const auto feature = [&](std::uint32_t which) {
    return (from.features_known & which) == 0 ? std::nullopt : std::optional<bool>((from.features & which) != 0);
  };
  to.float16 = feature(ANYPLACE_FEATURE_FLOAT16);
  to.float64 = feature(ANYPLACE_FEATURE_FLOAT64);
  to.int64_atomics = feature(ANYPLACE_FEATURE_INT64_ATOMICS);
  to.unified_addressing = feature(ANYPLACE_FEATURE_UNIFIED_ADDRESSING);
}

}  // namespace

DeviceProperties Device::properties() const {
  constexpr const char* operation = "Device::properties";
  enter(operation);
  require_usable(*state_, operation);
  const anyplace_device_properties& from = detail::properties_of(*state_, operation);
  DeviceProperties to;
  to.name = from.name;
  to.vendor = from.vendor;
  to.architecture = from.architecture;
  to.compute_capability = detail::compute_capability_of(to.architecture);
  to.driver_version = from.driver_version;
  to.uuid = from.uuid;
  to.pci = from.pci;
  to.total_memory = known(from.total_memory);
  to.compute_units = from.compute_units;
  to.address_alignment = from.address_alignment;
  to.max_shared_bytes = from.max_shared_bytes;
  std::copy(std::begin(from.max_grid), std::end(from.max_grid), to.max_grid);
  std::copy(std::begin(from.max_block), std::end(from.max_block), to.max_block);
  to.max_threads_per_block = from.max_threads_per_block;
  to.priorities = {from.least_priority, from.greatest_priority};
  for (const Capability capability : all_capabilities()) {
    if ((from.capabilities >> static_cast<std::uint32_t>(capability) & 1) != 0) to.capabilities.push_back(capability);
  }
  to.image_formats = image_formats_of(from.image_formats);
  add_details(from, to);
  return to;
}

bool Device::has(Capability capability) const {
  constexpr const char* operation = "Device::has";
  enter(operation);
  require_usable(*state_, operation);
  return detail::has_capability(*state_, capability, operation);
}

PriorityRange Device::priority_range() const {
  constexpr const char* operation = "Device::priority_range";
  enter(operation);
  require_usable(*state_, operation);
  const anyplace_device_properties& properties = detail::properties_of(*state_, operation);
  return {properties.least_priority, properties.greatest_priority};
}

MemoryInfo Device::memory_info() const {
  constexpr const char* operation = "Device::memory_info";
  enter(operation);
  require_usable(*state_, operation);
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  info.free_bytes = info.total_bytes = ANYPLACE_UNKNOWN;
  check(state_->table->device_memory(state_->self, state_->index, &info), *state_, operation);
  return {known(info.free_bytes), known(info.total_bytes)};
}

ClockReading Device::clock() const {
  constexpr const char* operation = "Device::clock";
  enter(operation);
  require_usable(*state_, operation);
  return state_->clock->read(*state_, operation);
}

// ---- Waiting -------------------------------------------------------------------------------------------------------

void Device::synchronize() const { static_cast<void>(synchronize(std::chrono::nanoseconds::max())); }

bool Device::synchronize(std::chrono::nanoseconds timeout) const {
  constexpr const char* operation = "Device::synchronize";
  enter(operation);
  detail::refuse_unsafe_call(*state_, operation);
  if (!detail::synchronize(*state_, detail::to_timeout_ns(timeout), operation)) return false;
  detail::drain_deferred_frees(*state_);
  state_->allocator->settle();
  return true;
}

// ---- Streams -------------------------------------------------------------------------------------------------------

StreamView Device::default_stream() const {
  constexpr const char* operation = "Device::default_stream";
  enter(operation);
  require_usable(*state_, operation);
  return StreamView(detail::default_stream_of(*state_, operation));
}

StreamView Device::per_thread_stream() const {
  constexpr const char* operation = "Device::per_thread_stream";
  enter(operation);
  require_usable(*state_, operation);
  return StreamView(detail::per_thread_stream_of(*state_, operation));
}

// ---- Peers ---------------------------------------------------------------------------------------------------------
namespace {

/// The checks that the three calls about peers share. False if `peer` is the device itself, which always reaches
/// itself.
bool begin_peer_call(DeviceState& device, DeviceState& peer, const char* operation) {
  enter(operation);
  require_usable(device, operation);
  require_usable(peer, operation);
  if (device.backend != peer.backend) {
    detail::fail(ErrorCode::invalid_argument, device.place, operation,
                 fmt::format("{} is of another backend than {}\npeers are devices of one backend; copies between "
                             "backends need no peer access",
                             peer.place, device.place));
  }
  detail::require_capability(device, Capability::peer_access, operation);
  return &device != &peer;
}

}  // namespace

bool Device::can_access_peer(const Device& peer) const {
  constexpr const char* operation = "Device::can_access_peer";
  if (!begin_peer_call(*state_, *peer.state_, operation)) return true;
  std::int32_t can = 0;
  check(state_->table->peer_query(state_->self, state_->index, peer.index(), &can), *state_, operation);
  return can != 0;
}

void Device::enable_peer_access(const Device& peer) const {
  constexpr const char* operation = "Device::enable_peer_access";
  if (!begin_peer_call(*state_, *peer.state_, operation)) return;
  check(state_->table->peer_enable(state_->self, state_->index, peer.index()), *state_, operation);
}

void Device::disable_peer_access(const Device& peer) const {
  constexpr const char* operation = "Device::disable_peer_access";
  if (!begin_peer_call(*state_, *peer.state_, operation)) return;
  check(state_->table->peer_disable(state_->self, state_->index, peer.index()), *state_, operation);
}

// ---- The vendor's side ---------------------------------------------------------------------------------------------
namespace {

std::uint64_t native_of(DeviceState& device, std::uint32_t kind, const char* operation) {
  enter(operation);
  require_usable(device, operation);
  detail::require_capability(device, Capability::native_handles, operation);
  std::uint64_t native = 0;
  check(device.table->device_native(device.self, device.index, kind, &native), device, operation);
  return native;
}

}  // namespace

std::uint64_t Device::native_handle() const {
  return native_of(*state_, ANYPLACE_NATIVE_DEVICE, "Device::native_handle");
}

std::uint64_t Device::native_context() const {
  return native_of(*state_, ANYPLACE_NATIVE_CONTEXT, "Device::native_context");
}

// ---- All devices of a backend --------------------------------------------------------------------------------------

int device_count(std::string_view backend) {
  constexpr const char* operation = "device_count";
  enter(operation);
  return static_cast<int>(detail::backend_of(std::string(backend), operation).devices.size());
}

std::vector<Device> devices(std::string_view backend) {
  constexpr const char* operation = "devices";
  enter(operation);
  std::vector<Device> all;
  for (const auto& device : detail::backend_of(std::string(backend), operation).devices) all.emplace_back(device.get());
  return all;
}

}  // namespace anyplace
