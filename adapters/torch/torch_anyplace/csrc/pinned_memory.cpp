// SPDX-License-Identifier: Apache-2.0
#include "pinned_memory.h"

#include <ATen/core/CachingHostAllocator.h>
#include <anyplace/anyplace.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>

#include "errors.h"
#include "streams.h"

namespace anyplace_torch {
namespace {

/// The contexts that are out. torch asks record_event with whatever context a tensor's memory has, which may be another
/// allocator's. Never destroyed, as the allocator isn't.
struct Contexts {
  std::mutex lock;
  std::unordered_set<const void*> all;
};

Contexts& contexts() {
  static auto& known = *new Contexts;
  return known;
}

void release(void* context) {
  {
    const std::lock_guard guard(contexts().lock);
    contexts().all.erase(context);
  }
  delete static_cast<anyplace::HostBuffer*>(context);
}

class PinnedMemory final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
    return call([&] {
      auto buffer = std::make_unique<anyplace::HostBuffer>(place(-1).device, bytes);
      void* address = buffer->data();
      {
        const std::lock_guard guard(contexts().lock);
        contexts().all.insert(buffer.get());
      }
      return c10::DataPtr(address, buffer.release(), &release, c10::Device(c10::DeviceType::CPU));
    });
  }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  bool record_event(void*, void* context, c10::Stream stream) override {
    const std::lock_guard guard(contexts().lock);
    if (!contexts().all.contains(context)) return false;
    call([&] { static_cast<anyplace::HostBuffer*>(context)->record_stream(view_of(stream)); });
    return true;
  }

  void empty_cache() override {
    call([] {
      for (const DevicePlace& place : places()) anyplace::empty_cache(place.device);
    });
  }

  at::HostStats get_stats() override {
    at::HostStats result;
    call([&] {
      // A backend's devices share their pinned memory; the first tells of it.
      std::set<std::string> told;
      for (const DevicePlace& place : places()) {
        if (told.insert(place.device.backend()).second) add(result, anyplace::host_memory_stats(place.device));
      }
    });
    return result;
  }

  void reset_accumulated_stats() override {
    TORCH_CHECK_NOT_IMPLEMENTED(false,
                                "the sums of pinned memory can't be reset apart from those of the device: "
                                "torch.anyplace.reset_accumulated_memory_stats() resets both");
  }
  void reset_peak_stats() override {
    TORCH_CHECK_NOT_IMPLEMENTED(false,
                                "the peaks of pinned memory can't be reset apart from those of the device: "
                                "torch.anyplace.reset_peak_memory_stats() resets both");
  }

 private:
  static void add(at::HostStats& to, const anyplace::HostMemoryStats& from) {
    to.active_bytes.current += static_cast<std::int64_t>(from.allocated_bytes);
    to.active_bytes.peak += static_cast<std::int64_t>(from.peak_allocated_bytes);
    to.allocated_bytes.current += static_cast<std::int64_t>(from.reserved_bytes);
    to.allocated_bytes.peak += static_cast<std::int64_t>(from.peak_reserved_bytes);
    to.active_requests.current += static_cast<std::int64_t>(from.allocations);
    to.active_requests.allocated += static_cast<std::int64_t>(from.total_allocations);
    to.num_host_alloc += static_cast<std::int64_t>(from.device_allocations);
    to.num_host_free += static_cast<std::int64_t>(from.device_frees);
  }
};

PinnedMemory& instance() {
  static auto& allocator = *new PinnedMemory;
  return allocator;
}

[[maybe_unused]] const bool registered = [] {
  at::setHostAllocator(c10::DeviceType::PrivateUse1, &instance());
  return true;
}();

}  // namespace

c10::Allocator* pinned_allocator() { return &instance(); }

bool is_pinned(const void* address) {
  const auto kind = call([&] { return anyplace::pointer_attributes(address).kind; });
  return kind == anyplace::AddressKind::pinned || kind == anyplace::AddressKind::registered;
}

bool is_pinned_for(const void* address, c10::DeviceIndex index) {
  const auto known = call([&] { return anyplace::pointer_attributes(address); });
  const bool pinned = known.kind == anyplace::AddressKind::pinned || known.kind == anyplace::AddressKind::registered;
  return pinned && known.device && known.device->backend() == place(index).device.backend();
}

}  // namespace anyplace_torch
