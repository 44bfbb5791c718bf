// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of memory that streams wait on and the host sets, for a vendor whose streams can wait until a word has
// at least a given value. Opening a gate is a store, so it may be done anywhere, also inside a host function.
//
// A word only grows: each new gate on it waits for the next number. A later number also ends waits for an older one, so
// a word can be reused at once, and nothing has to know whether a wait is over.
//
// `Vendor` supplies the vendor's calls. All its members are static and noexcept:
//
//   Device, Scope          DeviceBase and DeviceScope of device_base.h, or with the same members
//   Number                 type: std::uint32_t where the device's comparison is cyclic, else std::uint64_t
//   std::size_t words      how many an allocation has
//   std::size_t distance   bytes from one to the next. A line of the host's cache each: devices look across the bus
//   Called<Result> allocate(void*& host, anyplace_address& device)    words * distance bytes, as both see them
//   Result free(void* host)
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Vendor>
class Gates {
 public:
  using Device = typename Vendor::Device;
  using Result = typename Device::Result;
  using Number = typename Vendor::Number;
  static_assert(sizeof(std::atomic<Number>) == sizeof(Number) && std::atomic<Number>::is_always_lock_free,
                "the device reads what the host's atomic store writes");

  /// A gate: a number that a word of memory has to reach.
  struct Gate {
    Gates* owner = nullptr;               ///< what it came from
    std::atomic<Number>* word = nullptr;  ///< the word as the host has it
    anyplace_address address = 0;         ///< the word's address for the device
    Number number = 0;                    ///< the gate is open when the word has at least this
    Gate* next_free = nullptr;            ///< the next one that can be used again

    /// Calls nothing, so it may also be called inside a host function. Thread-safe.
    void open() noexcept { word->store(number, std::memory_order_release); }
  };

  /// Gates for streams of `device`. Memory is allocated when it is first needed.
  explicit Gates(Device& device) noexcept : device_(device) {}
  Gates(const Gates&) = delete;  // it owns the memory of the words
  Gates& operator=(const Gates&) = delete;

  /// A closed gate, new or used again. Throws what the vendor reports.
  Gate* create() {
    const std::lock_guard lock(mutex_);
    if (free_ == nullptr) add_page();
    Gate* const gate = free_;
    free_ = gate->next_free;
    ++gate->number;
    return gate;
  }
  /// Opens the gate if nobody did.
  void destroy(Gate& gate) noexcept {
    gate.open();
    const std::lock_guard lock(mutex_);
    gate.next_free = free_;
    free_ = &gate;
  }
  /// Frees the memory, when nothing waits any more. Returns the first failure.
  Result close() noexcept {
    const std::lock_guard lock(mutex_);
    Result first{};
    for (const auto& page : pages_) {
      const Result result = Vendor::free(page->memory);
      if (first == Result{}) first = result;
    }
    pages_.clear();
    free_ = nullptr;
    return first;
  }

 private:
  struct Page {
    void* memory = nullptr;
    std::array<Gate, Vendor::words> gates;
  };

  void add_page() {
    auto page = std::make_unique<Page>();
    pages_.reserve(pages_.size() + 1);
    const typename Vendor::Scope scope(device_);
    anyplace_address address = 0;
    device_.check(Vendor::allocate(page->memory, address));
    for (std::size_t i = 0; i < Vendor::words; ++i) {
      Gate& gate = page->gates[i];
      gate.owner = this;
      gate.word = new (static_cast<std::byte*>(page->memory) + i * Vendor::distance) std::atomic<Number>(0);
      gate.address = address + i * Vendor::distance;
      gate.next_free = free_;
      free_ = &gate;
    }
    pages_.push_back(std::move(page));
  }

  Device& device_;
  std::mutex mutex_;  // guards all below; a page is allocated under it
  Gate* free_ = nullptr;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace anyplace::backend
