// SPDX-License-Identifier: Apache-2.0
//
// GeneratorState has a seed, and the offset at which the next fill begins. It belongs to a device by name: there may be
// no such device, and its backend needn't be loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace anyplace::detail {

/// Offsets count words of 32 bits, modulo 2^64. They are multiples of four, as a Philox counter gives four words.
struct GeneratorState {
  const std::string backend;  ///< the backend's own name, not an alias
  const int index;

  GeneratorState(std::string of_backend, int of_index, std::uint64_t with_seed)
      : backend(std::move(of_backend)), index(of_index), seed_(with_seed) {}

  struct Numbers {
    std::uint64_t seed;
    std::uint64_t offset;
  };
  Numbers now() const {
    const std::lock_guard lock(mutex_);
    return {seed_, offset_};
  }
  void set(Numbers numbers) {
    const std::lock_guard lock(mutex_);
    seed_ = numbers.seed;
    offset_ = numbers.offset;
  }
  void set_offset(std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    offset_ = offset;
  }
  /// Takes the next `words` words from the offset on, which nobody else gets.
  Numbers take(std::uint64_t words) {
    const std::lock_guard lock(mutex_);
    const Numbers taken{seed_, offset_};
    offset_ += words;
    return taken;
  }

  std::string place() const { return backend + ":" + std::to_string(index); }

 private:
  mutable std::mutex mutex_;  // guards seed_ and offset_, and is a leaf
  std::uint64_t seed_;
  std::uint64_t offset_ = 0;
};

}  // namespace anyplace::detail
