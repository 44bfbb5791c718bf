// SPDX-License-Identifier: Apache-2.0
#include "synthetic.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace anyplace::tool {
namespace {

/// The generator splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  /// A number from 0 to limit - 1. The bias, limit / 2^64, is negligible.
  std::uint64_t below(std::uint64_t limit) noexcept { return next() % limit; }

 private:
  std::uint64_t state_;
};

/// A log-uniform size from synthetic_smallest to synthetic_largest: a random octave times 2^x, for a random x of 32
/// bits from 0 to 1. The power is a product of square roots, which IEEE 754 rounds alike on every machine; exp2 isn't
/// specified so.
std::uint64_t random_size(Random& random) {
  constexpr std::uint64_t octaves = 19;
  static_assert(synthetic_smallest << octaves == synthetic_largest);
  std::uint64_t x = random.next();
  auto size = static_cast<double>(synthetic_smallest << random.below(octaves));
  double root = 2;
  for (int i = 0; i < 32; ++i, x >>= 1) {
    root = std::sqrt(root);
    if ((x & 1) != 0) size *= root;
  }
  return static_cast<std::uint64_t>(size);
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed), size_(random_size(random_)) {}

  /// Adds `events` events, with at most `target` bytes live.
  void add(std::uint64_t events, std::uint64_t target) {
    for (; events > 0; --events) {
      if (trace_.live_bytes() + size_ > target) {
        free_one();
        continue;
      }
      live_.push_back(trace_.allocate(size_, static_cast<std::uint16_t>(random_.below(synthetic_streams))));
      size_ = random_size(random_);
    }
  }
  Trace take() && { return std::move(trace_).take(); }

 private:
  void free_one() {
    const std::size_t at = random_.below(live_.size());
    trace_.free(live_[at]);
    live_[at] = live_.back();
    live_.pop_back();
  }

  Random random_;
  std::uint64_t size_;  ///< the size of the next allocation, made as soon as it fits
  TraceBuilder trace_;
  std::vector<std::uint32_t> live_;
};

std::uint64_t part_of(std::uint64_t capacity, double part) {
  return static_cast<std::uint64_t>(static_cast<double>(capacity) * part);
}

}  // namespace

Synthetic make_synthetic(std::uint64_t seed, std::uint64_t operations, std::uint64_t capacity, int fill) {
  Generator generator(seed);
  generator.add(operations, part_of(capacity, fill / 100.0));
  for (int percent = fill + 1; percent <= 100; ++percent) {
    generator.add(std::max<std::uint64_t>(operations / 100, 1), part_of(capacity, percent / 100.0));
  }
  Trace all = std::move(generator).take();

  Synthetic made;
  const auto boundary = all.events.begin() + static_cast<std::ptrdiff_t>(operations);
  made.filling = {{boundary, all.events.end()}, all.slots, all.streams, all.peak_live_bytes, 0};
  all.events.erase(boundary, all.events.end());
  std::uint64_t live = 0;
  all.peak_live_bytes = 0;
  for (const TraceEvent& event : all.events) {
    live = event.allocates ? live + event.bytes : live - event.bytes;
    all.peak_live_bytes = std::max(all.peak_live_bytes, live);
  }
  made.trace = std::move(all);
  return made;
}

}  // namespace anyplace::tool
