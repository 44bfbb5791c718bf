// SPDX-License-Identifier: Apache-2.0
//
// What must come of a driver that says it has virtual memory and can't map any: memory in segments, and one report for
// each device. Needs a process of its own whose double fails every mapping.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/errors.h"

namespace test {

/// How many of what was reported has all three parts.
inline std::ptrdiff_t count_of(const Reports& reports, const std::string& place, const std::string& part,
                               const std::string& vendor) {
  const std::vector<anyplace::Error> all = reports.all();
  return std::count_if(all.begin(), all.end(), [&](const anyplace::Error& error) {
    const std::string text = error.what();
    return text.find(place) != std::string::npos && text.find(part) != std::string::npos &&
           text.find(vendor) != std::string::npos;
  });
}

/// Buffers of all sizes on two streams of a device, each with bytes of its own.
inline void use_memory(const std::string& place) {
  const anyplace::Stream streams[] = {anyplace::Stream(anyplace::Device(place)),
                                      anyplace::Stream(anyplace::Device(place))};
  for (int round = 0; round < 2; ++round) {
    std::vector<anyplace::Buffer> buffers;
    std::uint8_t value = 0;
    for (const std::uint64_t bytes : {1ull, 512ull, 100'000ull, 1'000'000ull, 3'000'000ull, 11'000'000ull}) {
      for (const anyplace::Stream& stream : streams) {
        buffers.emplace_back(stream, bytes);
        stream.memset8(buffers.back(), ++value);
      }
    }
    value = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::vector<std::uint8_t> found(buffers[i].size_bytes());
      streams[i % 2].copy(found, buffers[i]);
      streams[i % 2].synchronize();
      ++value;
      CHECK(found == std::vector<std::uint8_t>(found.size(), value));
    }
  }
}

/// `backend` has two devices, and its double refuses all mappings with what the vendor calls `reason`.
inline void check_segments_instead(const std::string& backend, const std::string& reason) {
  const Reports reports;
  const std::string first = backend + ":0", second = backend + ":1";
  use_memory(first);
  CHECK(count_of(reports, first, "segments of fixed size", reason) == 1);
  use_memory(second);
  CHECK(count_of(reports, second, "segments of fixed size", reason) == 1);
  CHECK(reports.all().size() == 2);
  const auto stats = anyplace::memory_stats(anyplace::Device(first));
  CHECK(stats.at("allocated_bytes.all.current") == 0);
  CHECK(stats.at("num_device_alloc") > 0);
  anyplace::empty_cache(anyplace::Device(first));
  CHECK(anyplace::memory_stats(anyplace::Device(first)).at("reserved_bytes.all.current") == 0);
}

}  // namespace test
