// SPDX-License-Identifier: Apache-2.0
// Copies and fills of one device, and between devices that reach each other: every byte where it belongs, in stream
// order.
#include "memory/memory_support.h"

namespace copy_test {

using namespace anyplace;
using namespace memory_test;

namespace {

/// What copying lines does, on the host.
void copy_lines(Bytes& to, std::size_t to_offset, std::size_t to_pitch, const Bytes& from, std::size_t from_offset,
                std::size_t from_pitch, std::size_t width, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; ++i)
      to[to_offset + row * to_pitch + i] = from[from_offset + row * from_pitch + i];
  }
}

}  // namespace

TEST_CASE("Bytes go up and across and down unchanged") {
  const std::string place = GENERATE("cpu_sim:0", "sim_plain:1", "sim_bare:0");
  const Device device(place);
  const Stream stream(device);
  for (const std::size_t count : {1u, 7u, 256u, 65537u, 3000001u}) {
    const Bytes bytes = pattern(count);
    const Buffer first(stream, count);
    const Buffer second(stream, count);
    Bytes back(count);
    stream.copy(first, bytes);
    stream.copy(second, first);
    stream.copy(back, second);
    stream.synchronize();
    CHECK(back == bytes);
  }
}

TEST_CASE("A copy of a part touches nothing beside it") {
  const Stream stream(Device("cpu_sim:0"));
  Bytes expected = pattern(1000, 1);
  const Buffer buffer = upload(stream, expected);
  const Bytes part = pattern(101, 2);
  stream.copy(buffer.sub(333, 101), part);
  std::copy(part.begin(), part.end(), expected.begin() + 333);
  stream.copy(buffer.sub(0, 333), buffer.sub(667));  // they touch neither the part nor each other
  std::copy(expected.begin() + 667, expected.end(), expected.begin());
  CHECK(download(stream, buffer) == expected);
}

TEST_CASE("Ranges that touch without overlapping are copied") {
  const Stream stream(Device("cpu_sim:0"));
  const Bytes bytes = pattern(200);
  const Buffer buffer = upload(stream, bytes);
  stream.copy(buffer.sub(100, 100), buffer.sub(0, 100));
  CHECK(download(stream, buffer.sub(100)) == Bytes(bytes.begin(), bytes.begin() + 100));
}

TEST_CASE("Fills of 8 and 16 and 32 bits set every element") {
  const std::string place = GENERATE("cpu_sim:0", "sim_bare:0");
  const Stream stream{Device(place)};
  const Buffer buffer(stream, 4004);
  stream.memset8(buffer, 0x11);
  stream.memset16(buffer.sub(2, 1002), 0x2233);
  stream.memset32(buffer.sub(2004, 2000), 0x44556677);
  Bytes expected(4004, 0x11);
  for (std::size_t i = 2; i < 1004; i += 2) {
    const std::uint16_t value = 0x2233;
    std::memcpy(&expected[i], &value, 2);
  }
  for (std::size_t i = 2004; i < 4004; i += 4) {
    const std::uint32_t value = 0x44556677;
    std::memcpy(&expected[i], &value, 4);
  }
  CHECK(download(stream, buffer) == expected);
}

TEST_CASE("Lines go up and across and down with every pitch") {
  const std::string place = GENERATE("sim_full:0", "sim_plain:0", "sim_bare:0");
  const Device device(place);
  const Stream stream(device);
  constexpr std::size_t width = 37;
  constexpr std::size_t rows = 23;
  const Bytes picture = pattern(50 * rows);
  Bytes device_bytes(64 * rows, 0);
  const Buffer first = upload(stream, device_bytes);
  Bytes second_bytes(41 * rows + 5, 0);
  const Buffer second = upload(stream, second_bytes);

  stream.copy_2d(first.sub(3), 64, ConstHostSpan(picture.data() + 1, picture.size() - 1), 50, width, rows);
  copy_lines(device_bytes, 3, 64, picture, 1, 50, width, rows);
  CHECK(download(stream, first) == device_bytes);

  stream.copy_2d(second.sub(2), 41, first.sub(3), 64, width, rows);
  copy_lines(second_bytes, 2, 41, device_bytes, 3, 64, width, rows);
  CHECK(download(stream, second) == second_bytes);

  Bytes result(width * rows, 0);
  Bytes expected(width * rows, 0);
  stream.copy_2d(result, width, second.sub(2), 41, width, rows);
  stream.synchronize();
  copy_lines(expected, 0, width, second_bytes, 2, 41, width, rows);
  CHECK(result == expected);
  CHECK(controls_of(device).copies_2d == (device.has(Capability::copy_2d) ? 3 : 0));
}

TEST_CASE("The last line needs no more than its width") {
  const Stream stream(Device("cpu_sim:0"));
  const Bytes bytes = pattern(100 * 3 + 10);
  const Buffer buffer(stream, bytes.size());
  stream.memset8(buffer, 0);
  stream.copy_2d(buffer, 100, bytes, 100, 10, 4);
  Bytes expected(bytes.size(), 0);
  copy_lines(expected, 0, 100, bytes, 0, 100, 10, 4);
  CHECK(download(stream, buffer) == expected);
}

TEST_CASE("Columns of one picture are copied beside each other") {
  const Stream stream(Device("cpu_sim:0"));
  Bytes bytes = pattern(100 * 20);
  const Buffer buffer = upload(stream, bytes);
  stream.copy_2d(buffer.sub(50), 100, buffer, 100, 50, 20);
  copy_lines(bytes, 50, 100, bytes, 0, 100, 50, 20);
  CHECK(download(stream, buffer) == bytes);
  // Lines between the lines of another pitch.
  stream.copy_2d(buffer.sub(10), 200, buffer.sub(0), 100, 10, 1);
  copy_lines(bytes, 10, 200, bytes, 0, 100, 10, 1);
  stream.copy_2d(buffer.sub(20), 40, buffer.sub(1000), 30, 10, 5);
  copy_lines(bytes, 20, 40, bytes, 1000, 30, 10, 5);
  stream.copy_2d(buffer.sub(30, 420), 40, buffer.sub(0), 80, 10, 5);  // no line of the one meets one of the other
  copy_lines(bytes, 30, 40, bytes, 0, 80, 10, 5);
  CHECK(download(stream, buffer) == bytes);
}

TEST_CASE("A copy between devices that reach each other goes straight and is of either stream") {
  const Device first("sim_full:0");
  const Device second("sim_full:1");
  const Stream on_first(first);
  const Stream on_second(second);
  const Bytes bytes = pattern(100003);
  const Buffer source = upload(on_first, bytes);
  const Buffer destination(on_second, bytes.size());
  const Stream& stream = GENERATE_REF(values({&on_first, &on_second})) == &on_first ? on_first : on_second;
  on_second.memset8(destination, 0);
  on_second.synchronize();
  const std::uint64_t before = controls_of(first).peer_copies;
  stream.copy(destination, source);
  stream.synchronize();
  CHECK(download(on_second, destination) == bytes);
  CHECK(controls_of(first).peer_copies == before + 1);
  stream.copy_2d(destination.sub(7), 100, source, 90, 80, 20);
  stream.synchronize();
  Bytes expected = bytes;
  copy_lines(expected, 7, 100, bytes, 0, 90, 80, 20);
  CHECK(download(on_second, destination) == expected);
  CHECK(controls_of(first).copies_2d == 0);
}

TEST_CASE("Work is submitted and not done when a copy returns") {
  const Stream stream(Device("cpu_sim:0"));
  const Buffer buffer(stream, 100);
  HostBuffer host(Device("cpu_sim:0"), 100);
  std::fill(host.as<std::uint8_t>().begin(), host.as<std::uint8_t>().end(), std::uint8_t{0});
  HostGate gate(stream);
  stream.memset8(buffer, 9);
  stream.copy(host.as<std::uint8_t>(), buffer);
  CHECK_FALSE(stream.query());
  CHECK(host.as<std::uint8_t>()[0] == 0);
  gate.open();
  stream.synchronize();
  CHECK(host.as<std::uint8_t>()[99] == 9);
}

}  // namespace copy_test
