// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of memory that streams wait on and the host sets. Opening one is a store, so it can be done from
// anywhere, also from inside a host function.
//
// Two differences from CUDA. A stream can wait for signal memory alone, which is allocated a word at a time, where CUDA
// takes any pinned memory. And the comparison isn't cyclic, so a word has 64 bits, which never wrap.
//
// A word only ever grows: each gate on it waits for the next number. What still waits for an older gate's number is let
// pass by any later one, so a word is used again at once, and nothing has to know whether a wait is over.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "driver.h"

namespace anyplace::hip {

class Device;
class Stream;

class Gates;

struct Gate {
  Gates* owner = nullptr;
  std::atomic<std::uint64_t>* word = nullptr;  ///< in signal memory, whose address is the same for host and device
  std::uint64_t number = 0;                    ///< open when the word is this or more
  Gate* next_free = nullptr;

  /// May be called from any thread, inside host functions too; calls nothing.
  void open() noexcept { word->store(number, std::memory_order_release); }
};

class Gates {
 public:
  explicit Gates(Device& device) noexcept : device_(device) {}
  Gates(const Gates&) = delete;  // it owns the memory of the words
  Gates& operator=(const Gates&) = delete;

  /// Whether the device and the library have waits on memory. Nothing below is called without.
  bool are_supported() const;

  Gate* create();
  /// Opens it if nobody did.
  void destroy(Gate& gate) noexcept;
  static void wait(const Stream& stream, const Gate& gate);
  /// Nothing waits any more. The first failure.
  hipError_t close() noexcept;

 private:
  void add_gate();

  Device& device_;
  std::mutex mutex_;  // guards all below; a word is allocated under it
  Gate* free_ = nullptr;
  std::vector<std::unique_ptr<Gate>> gates_;
};

}  // namespace anyplace::hip
