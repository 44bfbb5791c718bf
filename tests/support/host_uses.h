// SPDX-License-Identifier: Apache-2.0
// A HostBuffer that goes while a vendor's fake driver holds the copies from and to it.
#pragma once

#include <anyplace/anyplace.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

/// `driver.hold(0, true)` keeps the device from doing anything, and (0, false) lets it go on.
template <class Driver>
void check_host_buffers_kept(const Driver& driver, const std::string& place) {
  using anyplace::HostBuffer;
  constexpr std::size_t bytes = 64 * 1024;
  const anyplace::Device device(place);
  anyplace::configure_allocator(device, {});  // what goes is kept, whatever the program's environment says
  const anyplace::Stream stream(device);
  const anyplace::Buffer up(stream, bytes), down(stream, bytes);
  stream.memset8(down, 5);
  { const HostBuffer first(device, bytes), second(device, bytes); }
  stream.synchronize();

  driver.hold(0, true);
  std::vector<const std::byte*> used;
  try {
    const HostBuffer from(device, bytes), to(device, bytes);
    used = {from.data(), to.data()};
    std::fill_n(from.as<std::uint8_t>().begin(), bytes, std::uint8_t{7});
    stream.copy(up, from);
    stream.copy(to, down);
    throw std::runtime_error("passes");
  } catch (const std::runtime_error&) {
  }
  CHECK(anyplace::host_memory_stats(device).pending_bytes == 2 * bytes);
  std::vector<HostBuffer> others;
  for (int i = 0; i < 4; ++i) {
    others.emplace_back(device, bytes);
    CHECK(std::find(used.begin(), used.end(), others.back().data()) == used.end());
    std::fill_n(others.back().as<std::uint8_t>().begin(), bytes, std::uint8_t{9});
  }
  driver.hold(0, false);

  std::vector<std::uint8_t> back(bytes);
  stream.copy(back, up);
  stream.synchronize();
  CHECK(back == std::vector<std::uint8_t>(bytes, 7));
  for (const HostBuffer& other : others) {
    const auto values = other.as<std::uint8_t>();
    CHECK(std::all_of(values.begin(), values.end(), [](std::uint8_t value) { return value == 9; }));
  }
  const HostBuffer first(device, bytes), second(device, bytes);
  for (const HostBuffer* again : {&first, &second}) {
    CHECK(std::find(used.begin(), used.end(), again->data()) != used.end());
  }
  CHECK(anyplace::host_memory_stats(device).pending_bytes == 0);
}

}  // namespace test
