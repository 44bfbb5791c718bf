// SPDX-License-Identifier: Apache-2.0
//
// Memory: addresses, limits, copies and fills of every kind that the API has.
#include "support.h"

TEST_CASE("Given allocations of odd sizes when their addresses are looked at then all are aligned and apart") {
  const anyplace::Device on = device();
  std::vector<anyplace::Buffer> buffers;
  for (const std::uint64_t bytes : {1ull, 3ull, 255ull, 256ull, 257ull, 100'000ull}) {
    buffers.emplace_back(on, bytes);
    CHECK(buffers.back().address() % 256 == 0);
  }
  const anyplace::Stream stream(on);
  for (std::size_t i = 0; i < buffers.size(); ++i) stream.memset8(buffers[i], static_cast<std::uint8_t>(i + 1));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    std::vector<std::uint8_t> back(buffers[i].size_bytes());
    stream.copy(back, buffers[i]);
    stream.synchronize();
    CHECK(back == std::vector<std::uint8_t>(back.size(), static_cast<std::uint8_t>(i + 1)));
  }
}

TEST_CASE("Given fills of each width within a buffer when read back then only their range has the pattern") {
  const anyplace::Stream stream(device());
  const anyplace::Buffer buffer(stream, 64);
  stream.memset8(buffer, 0);
  stream.memset8(buffer.sub(1, 3), 0xab);
  stream.memset16(buffer.sub(10, 6), 0x1234);
  stream.memset32(buffer.sub(32, 8), 0xcafebabe);
  std::vector<std::uint8_t> expected(64, 0);
  for (int i = 1; i < 4; ++i) expected[static_cast<std::size_t>(i)] = 0xab;
  for (std::size_t i = 10; i < 16; i += 2) expected[i] = 0x34, expected[i + 1] = 0x12;
  for (std::size_t i = 32; i < 40; i += 4) {
    expected[i] = 0xbe, expected[i + 1] = 0xba, expected[i + 2] = 0xfe, expected[i + 3] = 0xca;
  }
  std::vector<std::uint8_t> back(64);
  stream.copy(back, buffer);
  stream.synchronize();
  CHECK(back == expected);
}

TEST_CASE("Given more memory than the device has when asked for then it is out of memory with the figures") {
  const anyplace::Device on = device();
  const std::uint64_t total = *on.properties().total_memory;
  const anyplace::Error error = error_of([&] { const anyplace::Buffer buffer(on, total + 1); });
  CHECK(error.code() == anyplace::ErrorCode::out_of_memory);
  REQUIRE(error.memory());
  CHECK(error.memory()->requested == total + 1);
  const anyplace::Stream stream(on);
  const anyplace::Buffer buffer(stream, 16);
  stream.memset8(buffer, 1);
  stream.synchronize();
}

TEST_CASE("Given many large allocations when the device's total is reached then the next is out of memory") {
  const anyplace::Device on = device();
  anyplace::configure_allocator(on, {.caching = false});  // one allocation of the device's for each buffer
  const std::uint64_t total = *on.properties().total_memory;
  std::vector<anyplace::Buffer> buffers;
  std::uint64_t held = 0;
  const anyplace::Error error = error_of([&] {
    for (;;) {
      REQUIRE(held <= total);
      buffers.emplace_back(on, total / 8);
      held += total / 8;
    }
  });
  CHECK(error.code() == anyplace::ErrorCode::out_of_memory);
  CHECK(buffers.size() == 8);
}

TEST_CASE("Given pinned and managed memory when copied through then the bytes are the same") {
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  anyplace::HostBuffer up(on, 4096);
  anyplace::HostBuffer down(on, 4096);
  for (std::size_t i = 0; i < up.size(); ++i) up.data()[i] = static_cast<std::byte>(i * 7);
  const anyplace::Buffer middle(stream, 4096);
  stream.copy(middle, up.as<std::byte>());
  stream.copy(down.as<std::byte>(), middle);
  stream.synchronize();
  CHECK(std::memcmp(up.data(), down.data(), 4096) == 0);
  if (!on.has(anyplace::Capability::managed_memory)) return;
  const anyplace::Buffer managed(stream, 4096, {anyplace::MemoryKind::managed});
  stream.copy(managed, middle);
  stream.synchronize();
  CHECK(std::memcmp(up.data(), managed.host_data(), 4096) == 0);
}

TEST_CASE("Given a picture's rectangle when copied by lines then the rest is untouched") {
  const anyplace::Stream stream(device());
  const anyplace::Buffer buffer(stream, 64 * 8);
  stream.memset8(buffer, 0);
  const std::vector<std::uint8_t> source(20 * 4, 3);
  stream.copy_2d(buffer.sub(64), 64, source, 20, 20, 4);
  std::vector<std::uint8_t> back(64 * 8);
  stream.copy(back, buffer);
  stream.synchronize();
  std::vector<std::uint8_t> expected(64 * 8, 0);
  for (std::size_t row = 1; row < 5; ++row)
    std::fill_n(expected.begin() + static_cast<long>(row * 64), 20, std::uint8_t{3});
  CHECK(back == expected);
}
