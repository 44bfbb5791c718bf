// SPDX-License-Identifier: Apache-2.0
#include "memory/device_allocators.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>
#include <utility>

#include "memory/allocator/device_allocator.h"
#include "runtime/call.h"

namespace anyplace {

Allocator::~Allocator() = default;

namespace detail {
namespace {

/// The name of the allocator's class, as it is written in C++.
std::string name_of(const Allocator& allocator) {
  const char* const mangled = typeid(allocator).name();
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                          &std::free);
  return plain != nullptr ? plain.get() : mangled;
}

}  // namespace

DeviceAllocators::DeviceAllocators(DeviceState& device)
    : caching(make_caching_allocator(device)), raw(make_raw_allocator(device)) {}

DeviceAllocators* make_device_allocators(DeviceState& device) { return new DeviceAllocators(device); }

const std::shared_ptr<Allocator>& default_allocator(DeviceState& device) {
  return device.allocator->config().caching ? device.allocators->caching : device.allocators->raw;
}

std::shared_ptr<Allocator> custom_allocator_in_place(DeviceState& device) noexcept {
  const std::lock_guard lock(device.allocators->mutex);
  return device.allocators->custom;
}

anyplace_address allocate_from(Allocator& allocator, const StreamView& stream, std::uint64_t bytes, DeviceState& device,
                               const char* operation) {
  const anyplace_address address = allocator.allocate(stream, bytes);
  if (address == 0) {
    fail(
        ErrorCode::backend_failed, device.place, operation,
        fmt::format("the allocator that set_allocator was given ({}) gave address 0 for {} bytes\nit has to throw what "
                    "it can't give",
                    name_of(allocator), bytes));
  }
  if (address % least_alignment != 0) {
    give_to(allocator, stream, address, bytes, device);
    fail(ErrorCode::backend_failed, device.place, operation,
         fmt::format("the allocator that set_allocator was given ({}) gave address {:#x}, which isn't aligned to {} "
                     "bytes",
                     name_of(allocator), address, least_alignment));
  }
  return address;
}

void give_to(Allocator& allocator, const StreamView& stream, anyplace_address address, std::uint64_t bytes,
             DeviceState& device) noexcept {
  try {
    allocator.deallocate(stream, address, bytes);
  } catch (...) {
    report_current(device.place, "Allocator::deallocate");
  }
}

}  // namespace detail

// ---- The public functions ------------------------------------------------------------------------------------------

void configure_allocator(const Device& device, const AllocatorConfig& config) {
  constexpr const char* operation = "configure_allocator";
  detail::enter(operation);
  device.state()->allocator->configure(config, operation);
}

AllocatorConfig allocator_config(const Device& device) {
  detail::enter("allocator_config");
  return device.state()->allocator->config();
}

std::shared_ptr<Allocator> caching_allocator(const Device& device) {
  detail::enter("caching_allocator");
  return device.state()->allocators->caching;
}

std::shared_ptr<Allocator> raw_allocator(const Device& device) {
  detail::enter("raw_allocator");
  return device.state()->allocators->raw;
}

std::shared_ptr<Allocator> current_allocator(const Device& device) {
  detail::enter("current_allocator");
  detail::DeviceState& state = *device.state();
  if (std::shared_ptr<Allocator> custom = detail::custom_allocator(state)) return custom;
  return detail::default_allocator(state);
}

std::shared_ptr<Allocator> set_allocator(const Device& device, std::shared_ptr<Allocator> allocator) {
  detail::enter("set_allocator");
  detail::DeviceState& state = *device.state();
  const std::shared_ptr<Allocator>& by_default = detail::default_allocator(state);
  if (allocator == by_default) allocator = nullptr;  // Buffers then get memory from it directly
  const std::lock_guard lock(state.allocators->mutex);
  state.has_custom_allocator.store(allocator != nullptr, std::memory_order_relaxed);
  std::swap(state.allocators->custom, allocator);
  return allocator != nullptr ? allocator : by_default;
}

}  // namespace anyplace
