// SPDX-License-Identifier: Apache-2.0
//
// The device's caching allocator behind the Allocator interface. On the fast path it adds the calling thread's pool and
// nothing else.
#include <fmt/format.h>

#include "anyplace/stream.h"
#include "memory/allocator/device_allocator.h"
#include "memory/allocator/fast_path.h"
#include "memory/current_pool.h"
#include "runtime/layer_notes.h"
#include "streams/stream_state.h"

namespace anyplace::detail {
namespace {

class CachingAllocator final : public Allocator {
 public:
  explicit CachingAllocator(DeviceState& device) noexcept : device_(device) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    if (bytes != 0) [[likely]] {
      Block* const block = device_.allocator->allocate_quickly(stream.id(), current_pool(device_), bytes);
      if (block != nullptr) [[likely]]
        return block->address;
    }
    return allocate_slowly(stream, bytes);
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    if (device_.allocator->free_quickly(stream.id(), current_pool(device_), address, bytes)) [[likely]]
      return;
    deallocate_slowly(stream, address, bytes);
  }

 private:
  [[gnu::noinline]] std::uint64_t allocate_slowly(const StreamView& view, std::uint64_t bytes);
  [[gnu::noinline]] void deallocate_slowly(const StreamView& stream, std::uint64_t address, std::uint64_t bytes);

  DeviceState& device_;
};

anyplace_layer_memory described(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) noexcept {
  anyplace_layer_memory memory{};
  memory.struct_size = sizeof(memory);
  memory.kind = ANYPLACE_MEMORY_DEVICE;
  memory.address = address;
  memory.bytes = bytes;
  memory.stream = stream.id();
  return memory;
}

std::uint64_t CachingAllocator::allocate_slowly(const StreamView& view, std::uint64_t bytes) {
  constexpr const char* operation = "caching_allocator: allocate";
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  if (stream->device != &device_) {
    fail(ErrorCode::invalid_argument, device_.place, operation,
         fmt::format("the stream is of {}, the allocator of {}\neach device has an allocator of its own",
                     stream->device->place, device_.place));
  }
  require_usable(device_, operation);
  if (bytes == 0) return 0;
  const std::uint64_t address = device_.allocator->allocate(*stream, current_pool(device_), bytes, operation)->address;
  if (layers_listen()) note_memory_taken(device_, described(view, address, bytes));
  return address;
}

void CachingAllocator::deallocate_slowly(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) {
  constexpr const char* operation = "caching_allocator: deallocate";
  enter(operation);
  join_fast_path();
  if (address == 0 && bytes == 0) return;
  // Layers hear of it before the memory can be another's, and so also of what is refused then: a layer compares size
  // and stream with what was taken.
  if (layers_listen()) note_memory_returned(device_, described(stream, address, bytes));
  device_.allocator->deallocate(stream.id(), address, bytes, operation);
}

}  // namespace

std::shared_ptr<Allocator> make_caching_allocator(DeviceState& device) {
  return std::make_shared<CachingAllocator>(device);
}

}  // namespace anyplace::detail
