// SPDX-License-Identifier: Apache-2.0
#include "gate.h"

#include <cstddef>
#include <new>

#include "device.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

/// The one size that hipExtMallocWithFlags takes for signal memory.
constexpr std::size_t word_bytes = 8;
constexpr std::uint64_t all_bits = ~std::uint64_t{0};

static_assert(sizeof(std::atomic<std::uint64_t>) == word_bytes && std::atomic<std::uint64_t>::is_always_lock_free,
              "the device reads what the host's atomic store writes");

}  // namespace

bool Gates::are_supported() const {
  return driver().StreamWaitValue64 && driver().ExtMallocWithFlags &&
         device_.attribute(attribute_stream_wait_value) != 0;
}

void Gates::add_gate() {
  auto gate = std::make_unique<Gate>();
  gates_.reserve(gates_.size() + 1);
  const DeviceScope scope(device_);
  void* memory = nullptr;
  device_.check(driver().ExtMallocWithFlags(&memory, word_bytes, malloc_signal_memory), "hipExtMallocWithFlags");
  gate->owner = this;
  gate->word = new (memory) std::atomic<std::uint64_t>(0);
  gate->next_free = free_;
  free_ = gate.get();
  gates_.push_back(std::move(gate));
}

Gate* Gates::create() {
  const std::lock_guard lock(mutex_);
  if (free_ == nullptr) add_gate();
  Gate* const gate = free_;
  free_ = gate->next_free;
  ++gate->number;
  return gate;
}

void Gates::destroy(Gate& gate) noexcept {
  gate.open();
  const std::lock_guard lock(mutex_);
  gate.next_free = free_;
  free_ = &gate;
}

void Gates::wait(const Stream& stream, const Gate& gate) {
  Device& device = stream.device();
  const DeviceScope scope(device);
  const hipError_t result =
      driver().StreamWaitValue64(stream.native(), gate.word, gate.number, wait_value_greater_or_equal, all_bits);
  device.check(result, "hipStreamWaitValue64");
}

hipError_t Gates::close() noexcept {
  const std::lock_guard lock(mutex_);
  hipError_t first = hipSuccess;
  for (const auto& gate : gates_) {
    const hipError_t result = driver().Free(gate->word);
    if (first == hipSuccess) first = result;
  }
  gates_.clear();
  free_ = nullptr;
  return first;
}

}  // namespace anyplace::hip
