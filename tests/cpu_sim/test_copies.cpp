// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "plugin.h"

namespace test_copies_cases {

using namespace cpu_sim_test;

namespace {

std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned seed = 1) {
  std::vector<std::uint8_t> out(bytes);
  std::uint32_t state = seed;
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return out;
}

}  // namespace

TEST_CASE("Given sizes from a byte to many megabytes, When they are copied up, across and down, Then nothing is lost") {
  Plugin plugin;
  Stream stream(plugin);
  for (std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4097}, std::uint64_t{256 << 10},
                              std::uint64_t{(256 << 10) + 1}, std::uint64_t{(17 << 20) + 13}}) {
    const std::vector<std::uint8_t> source = pattern(bytes);
    std::vector<std::uint8_t> result(bytes + 2, 0xee);
    const std::uint64_t a = plugin.allocate(bytes), b = plugin.allocate(bytes);
    stream.copy(reinterpret_cast<void*>(a), source.data(), bytes);
    check(plugin->memory_copy(plugin.self(), stream.handle, b, a, bytes, ANYPLACE_COPY_DEVICE_TO_DEVICE));
    stream.copy(result.data() + 1, reinterpret_cast<void*>(b), bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
    CHECK(stream.synchronize());
    CHECK(std::memcmp(result.data() + 1, source.data(), bytes) == 0);
    CHECK(result.front() == 0xee);
    CHECK(result.back() == 0xee);
    plugin.free(a);
    plugin.free(b);
  }
}

TEST_CASE("Given a copy behind a gate, Then it reads its source when it runs and not when it is submitted") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  int source = 1, destination = 0;
  stream.wait(gate);
  stream.copy(&destination, &source, sizeof(int));
  source = 2;
  CHECK(destination == 0);
  gate.open();
  CHECK(stream.synchronize());
  CHECK(destination == 2);
}

TEST_CASE("Given two devices, When memory is copied between them on either's stream, Then it is there") {
  Plugin plugin;
  const std::vector<std::uint8_t> source = pattern(5000);
  const std::uint64_t a = plugin.allocate(5000, 0), b = plugin.allocate(5000, 1);
  for (std::int32_t device : {0, 1}) {
    Stream stream(plugin, Stream::on(device));
    std::memcpy(reinterpret_cast<void*>(a), source.data(), 5000);
    std::memset(reinterpret_cast<void*>(b), 0, 5000);
    check(plugin->memory_copy_peer(plugin.self(), stream.handle, 1, b, 0, a, 5000));
    CHECK(stream.synchronize());
    CHECK(std::memcmp(reinterpret_cast<void*>(b), source.data(), 5000) == 0);
    CHECK(plugin->memory_copy_peer(plugin.self(), stream.handle, 2, b, 0, a, 1) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
  }
  plugin.free(a, 0);
  plugin.free(b, 1);
}

TEST_CASE("Given pitched memory, When rows are copied, Then only their bytes are written") {
  Plugin plugin;
  Stream stream(plugin);
  struct Shape {
    std::uint64_t width, rows, from_pitch, to_pitch;
  };
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{3, 5, 7, 4}, Shape{64, 64, 64, 64}, Shape{1000, 3000, 1024, 1001},
                             Shape{1 << 20, 5, 1 << 20, (1 << 20) + 3}}) {
    const std::vector<std::uint8_t> from = pattern(shape.from_pitch * shape.rows);
    std::vector<std::uint8_t> to(shape.to_pitch * shape.rows, 0xee), expected = to;
    for (std::uint64_t row = 0; row < shape.rows; ++row) {
      std::memcpy(&expected[row * shape.to_pitch], &from[row * shape.from_pitch], shape.width);
    }
    anyplace_copy_2d copy{};
    copy.struct_size = sizeof(copy);
    copy.kind = ANYPLACE_COPY_HOST_TO_DEVICE;
    copy.destination = reinterpret_cast<std::uint64_t>(to.data());
    copy.destination_pitch = shape.to_pitch;
    copy.source = reinterpret_cast<std::uint64_t>(from.data());
    copy.source_pitch = shape.from_pitch;
    copy.width = shape.width;
    copy.rows = shape.rows;
    check(plugin->memory_copy_2d(plugin.self(), stream.handle, &copy));
    copy = {};  // the struct is the caller's again
    CHECK(stream.synchronize());
    CHECK((to == expected));
  }
}

TEST_CASE("Given fills of 1, 2 and 4 bytes, Then exactly the elements get the low bits of the value") {
  Plugin plugin;
  Stream stream(plugin);
  for (std::uint32_t width : {1u, 2u, 4u}) {
    for (std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{(256 << 10) / width},
                                std::uint64_t{(256 << 10) / width + 1}, std::uint64_t{3'000'001}}) {
      const std::uint32_t value = 0x89abcdef;
      const std::uint64_t address = plugin.allocate((count + 2) * width);
      auto* bytes = reinterpret_cast<std::uint8_t*>(address);
      std::memset(bytes, 0x55, (count + 2) * width);
      check(plugin->memory_set(plugin.self(), stream.handle, address + width, value, width, count));
      CHECK(stream.synchronize());
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < (count + 2) * width; ++i) {
        const bool inside = i >= width && i < (count + 1) * width;
        const auto expected = inside ? static_cast<std::uint8_t>(value >> (8 * (i % width))) : std::uint8_t{0x55};
        wrong += bytes[i] != expected;
      }
      CHECK(wrong == 0);
      plugin.free(address);
    }
  }
}

TEST_CASE("Given copies and fills that can't be, Then each is INVALID_ARGUMENT and nothing is submitted") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  alignas(8) char memory[64] = {};
  const auto at = reinterpret_cast<std::uint64_t>(&memory[0]);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at, 1, 3, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at, 1, 0, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at + 1, 1, 2, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_copy(plugin.self(), stream.handle, at, at + 8, 1, 0) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_copy(plugin.self(), stream.handle, at, at + 8, 1, 5) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  anyplace_copy_2d copy{sizeof(copy), ANYPLACE_COPY_HOST_TO_DEVICE, at, 3, at + 32, 4, 4, 2};
  CHECK(plugin->memory_copy_2d(plugin.self(), stream.handle, &copy) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  copy.width = 0;
  CHECK(plugin->memory_copy_2d(plugin.self(), stream.handle, &copy) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(stream.done());
}

}  // namespace test_copies_cases
