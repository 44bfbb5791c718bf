// SPDX-License-Identifier: Apache-2.0
//
// The device's own allocations behind the Allocator interface. A list of its allocations lets it check what is freed
// before a backend sees it.
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "memory/device_allocators.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

class RawAllocator final : public Allocator {
 public:
  explicit RawAllocator(DeviceState& device) noexcept : device_(device) {}
  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override;
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override;

 private:
  using Taken = std::map<anyplace_address, std::unique_ptr<BufferState>>;
  std::unique_ptr<BufferState> take_out(const StreamView& stream, anyplace_address address, std::uint64_t bytes,
                                        const char* operation);
  /// Describes an address at which no allocation begins. The mutex is held.
  std::string describe(anyplace_address address) const;

  DeviceState& device_;
  std::mutex mutex_;  // guards taken_; a leaf
  Taken taken_;
};

std::uint64_t RawAllocator::allocate(const StreamView& view, std::uint64_t bytes) {
  constexpr const char* operation = "raw_allocator: allocate";
  enter(operation);
  Pin<StreamState> stream = streams().pin(view.id(), operation);
  if (stream->device != &device_) {
    fail(ErrorCode::invalid_argument, device_.place, operation,
         fmt::format("the stream is of {}, the allocator of {}\neach device has an allocator of its own",
                     stream->device->place, device_.place));
  }
  require_usable(device_, operation);
  if (bytes == 0) return 0;
  auto state = std::make_unique<BufferState>();
  state->device = &device_;
  state->bytes = bytes;
  state->origin = RawMemory{has_capability(device_, Capability::stream_ordered_memory, operation)};
  const anyplace_address address = allocate_device_memory(*stream, ANYPLACE_MEMORY_DEVICE, bytes, operation);
  state->address = address;
  state->home = std::move(stream);
  try {
    enter_in_book(*state);
    const std::lock_guard lock(mutex_);
    const auto place = taken_.try_emplace(address).first;
    place->second = std::move(state);
  } catch (...) {
    strike_from_book(*state);
    RawMemory::free(std::move(state));
    throw;
  }
  return address;
}

void RawAllocator::deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) {
  constexpr const char* operation = "raw_allocator: deallocate";
  enter(operation);
  if (address == 0 && bytes == 0) return;
  std::unique_ptr<BufferState> out = take_out(stream, address, bytes, operation);
  strike_from_book(*out);
  RawMemory::free(std::move(out));
}

std::unique_ptr<BufferState> RawAllocator::take_out(const StreamView& stream, anyplace_address address,
                                                    std::uint64_t bytes, const char* operation) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(address);
  if (found == taken_.end()) {
    fail(ErrorCode::invalid_argument, device_.place, operation, describe(address));
  }
  const BufferState& state = *found->second;
  if (state.bytes != bytes || state.home->id != stream.id()) {
    fail(ErrorCode::invalid_argument, device_.place, operation,
         fmt::format("address {:#x} was allocated with {} bytes on stream {}, and is freed with {} bytes on stream {}",
                     address, state.bytes, state.home->id, bytes, stream.id()));
  }
  std::unique_ptr<BufferState> out = std::move(found->second);
  taken_.erase(found);
  return out;
}

std::string RawAllocator::describe(anyplace_address address) const {
  auto after = taken_.upper_bound(address);
  if (after != taken_.begin()) {
    const BufferState& before = *(--after)->second;
    if (address - before.address < before.bytes) {
      return fmt::format("address {:#x} is inside the {} bytes from {:#x}: give back where they begin", address,
                         before.bytes, before.address);
    }
  }
  return fmt::format("address {:#x} is not out: it was never allocated here, or was freed already", address);
}

}  // namespace

std::shared_ptr<Allocator> make_raw_allocator(DeviceState& device) { return std::make_shared<RawAllocator>(device); }

}  // namespace anyplace::detail
