// SPDX-License-Identifier: Apache-2.0
#include "device_memory.h"

#include <anyplace/anyplace.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "errors.h"
#include "streams.h"
#include "transfers.h"

namespace anyplace_torch {
namespace {

using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

/// What a DataPtr's context is.
struct Block {
  anyplace::Buffer buffer;
  c10::DeviceIndex index;
};

void tell_profiler(const Block& block, std::int64_t bytes) {
  if (!c10::memoryProfilingEnabled()) return;
  const anyplace::Device& device = place(block.index).device;
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(block.buffer.address()), bytes,
                                   anyplace::memory_allocated(device), anyplace::memory_reserved(device),
                                   c10::Device(c10::DeviceType::PrivateUse1, block.index));
}

void release(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  try {
    tell_profiler(*block, -static_cast<std::int64_t>(block->buffer.size_bytes()));
  } catch (const std::exception&) {
    // A deleter has nobody to tell; the profiler misses a line where the device is lost.
  }
}

StatArray array_of(const anyplace::MemoryStats& stats, const std::string& name) {
  constexpr std::array<const char*, 3> kPools{"all", "small_pool", "large_pool"};  // in the order of torch's StatType
  StatArray result;
  for (std::size_t pool = 0; pool < kPools.size(); ++pool) {
    const std::string prefix = name + "." + kPools[pool] + ".";
    Stat& stat = result[pool];
    stat.current = stats.at(prefix + "current");
    stat.peak = stats.at(prefix + "peak");
    stat.allocated = stats.at(prefix + "allocated");
    stat.freed = stats.at(prefix + "freed");
  }
  return result;
}

Stat stat_of(const anyplace::MemoryStats& stats, const std::string& name) {
  Stat stat;
  stat.current = stats.at(name + ".current");
  stat.peak = stats.at(name + ".peak");
  stat.allocated = stats.at(name + ".allocated");
  stat.freed = stats.at(name + ".freed");
  return stat;
}

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::DeviceIndex index = current_index();
    const c10::Device device(c10::DeviceType::PrivateUse1, index);
    place(index);  // throws where there is no such device, also for 0 bytes
    if (bytes == 0) return {nullptr, device};
    return call([&] {
      auto block = std::make_unique<Block>(Block{anyplace::Buffer(current_view(index), bytes), index});
      void* address = reinterpret_cast<void*>(block->buffer.address());
      tell_profiler(*block, static_cast<std::int64_t>(bytes));
      return c10::DataPtr(address, block.release(), &release, device);
    });
  }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    const c10::DeviceIndex index = current_index();
    copy_device_to_device({current_view(index), index, index}, destination, source, Rows::flat(bytes));
  }

  bool initialized() override { return place_count() > 0; }
  void emptyCache(c10::MempoolId_t) override {
    call([] {
      for (const DevicePlace& place : places()) anyplace::empty_cache(place.device);
    });
  }
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override { record_on_stream(memory, stream); }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override {
    return call([&] {
      const anyplace::MemoryStats stats = anyplace::memory_stats(place(index).device);
      c10::CachingDeviceAllocator::DeviceStats result;
      result.allocation = array_of(stats, "allocation");
      result.segment = array_of(stats, "segment");
      result.active = array_of(stats, "active");
      result.inactive_split = array_of(stats, "inactive_split");
      result.allocated_bytes = array_of(stats, "allocated_bytes");
      result.reserved_bytes = array_of(stats, "reserved_bytes");
      result.active_bytes = array_of(stats, "active_bytes");
      result.inactive_split_bytes = array_of(stats, "inactive_split_bytes");
      result.requested_bytes = array_of(stats, "requested_bytes");
      result.oversize_allocations = stat_of(stats, "oversize_allocations");
      result.oversize_segments = stat_of(stats, "oversize_segments");
      result.num_alloc_retries = stats.at("num_alloc_retries");
      result.num_ooms = stats.at("num_ooms");
      result.num_sync_all_streams = stats.at("num_sync_all_streams");
      result.num_device_alloc = stats.at("num_device_alloc");
      result.num_device_free = stats.at("num_device_free");
      result.max_split_size = stats.at("max_split_size");
      return result;
    });
  }
  void resetAccumulatedStats(c10::DeviceIndex index) override {
    call([&] { anyplace::reset_accumulated_memory_stats(place(index).device); });
  }
  void resetPeakStats(c10::DeviceIndex index) override {
    call([&] { anyplace::reset_peak_memory_stats(place(index).device); });
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex index) override {
    const anyplace::MemoryInfo info = call([&] { return anyplace::mem_get_info(place(index).device); });
    TORCH_CHECK_NOT_IMPLEMENTED(info.free && info.total, place(index).device.to_string(),
                                " can't tell how much memory it has and how much of it is free");
    return {*info.free, *info.total};
  }
};

DeviceMemory& instance() {
  static auto& allocator = *new DeviceMemory;  // never destroyed: tensors may outlive this library's statics
  return allocator;
}

[[maybe_unused]] const bool registered = [] {
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &instance());
  return true;
}();

}  // namespace

c10::Allocator* device_allocator() { return &instance(); }

void record_on_stream(const c10::DataPtr& memory, const c10::Stream& stream) {
  const auto* block = memory.get_deleter() == &release ? static_cast<const Block*>(memory.get_context()) : nullptr;
  if (block == nullptr) return;
  call([&] { block->buffer.record_stream(view_of(stream)); });
}

}  // namespace anyplace_torch
