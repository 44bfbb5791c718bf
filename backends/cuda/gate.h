// SPDX-License-Identifier: Apache-2.0
//
// Gates: words of pinned host memory that streams wait on and the host sets. Opening one is a store, so it can be done
// from anywhere, also from inside a host function.
//
// A word only ever grows: each gate on it waits for the next number. What still waits for an older gate's number is let
// pass by any later one, so a word is used again at once, and nothing has to know whether a wait is over.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "driver.h"

namespace anyplace::cuda {

class Device;
class Stream;

class Gates;

struct Gate {
  Gates* owner = nullptr;
  std::atomic<std::uint32_t>* word = nullptr;  ///< in pinned memory
  CUdeviceptr address = 0;                     ///< the same word as the device sees it
  std::uint32_t number = 0;                    ///< open when the word is this or more
  Gate* next_free = nullptr;

  /// May be called from any thread, inside host functions too; calls nothing.
  void open() noexcept { word->store(number, std::memory_order_release); }
};

class Gates {
 public:
  explicit Gates(Device& device) noexcept : device_(device) {}
  Gates(const Gates&) = delete;  // it owns the memory of the words
  Gates& operator=(const Gates&) = delete;

  Gate* create();
  /// Opens it if nobody did.
  void destroy(Gate& gate) noexcept;
  static void wait(const Stream& stream, const Gate& gate);
  /// Nothing waits any more. The first failure.
  CUresult close() noexcept;

 private:
  struct Page;
  void add_page();

  Device& device_;
  std::mutex mutex_;  // guards all below; a page is allocated under it
  Gate* free_ = nullptr;
  std::vector<Page*> pages_;
};

}  // namespace anyplace::cuda
