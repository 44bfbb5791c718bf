// SPDX-License-Identifier: Apache-2.0
#include "gate.h"

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "device.h"
#include "stream.h"

namespace anyplace::cuda {

namespace {

/// A word has a line of the host's cache to itself: devices look at it across the bus.
constexpr std::size_t word_distance = 64;
constexpr std::size_t words_per_page = 64;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(cuuint32_t) &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "the device reads what the host's atomic store writes");

}  // namespace

struct Gates::Page {
  void* memory = nullptr;
  std::array<Gate, words_per_page> gates;
};

void Gates::add_page() {
  auto page = std::make_unique<Page>();
  pages_.reserve(pages_.size() + 1);
  const DeviceScope scope(device_);
  device_.check(driver().MemHostAlloc(&page->memory, words_per_page * word_distance,
                                      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                "cuMemHostAlloc");
  CUdeviceptr address = 0;
  const CUresult result = driver().MemHostGetDevicePointer(&address, page->memory, 0);
  if (result != CUDA_SUCCESS) {
    driver().MemFreeHost(page->memory);
    device_.fail(result, "cuMemHostGetDevicePointer");
  }
  for (std::size_t i = 0; i < words_per_page; ++i) {
    Gate& gate = page->gates[i];
    gate.owner = this;
    gate.word = new (static_cast<std::byte*>(page->memory) + i * word_distance) std::atomic<std::uint32_t>(0);
    gate.address = address + i * word_distance;
    gate.next_free = free_;
    free_ = &gate;
  }
  pages_.push_back(page.release());
}

Gate* Gates::create() {
  const std::lock_guard lock(mutex_);
  if (free_ == nullptr) add_page();
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
  // The comparison is cyclic, as numbers are.
  device.check(driver().StreamWaitValue32(stream.native(), gate.address, gate.number, CU_STREAM_WAIT_VALUE_GEQ),
               "cuStreamWaitValue32");
}

CUresult Gates::close() noexcept {
  const std::lock_guard lock(mutex_);
  CUresult first = CUDA_SUCCESS;
  for (Page* const page : pages_) {
    const CUresult result = driver().MemFreeHost(page->memory);
    if (first == CUDA_SUCCESS) first = result;
    delete page;
  }
  pages_.clear();
  free_ = nullptr;
  return first;
}

}  // namespace anyplace::cuda
