// SPDX-License-Identifier: Apache-2.0
// Pitched copies and copies between devices that reach each other: with which of the backend's entries they are made,
// and lines that interleave.
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

TEST_CASE("Lines go by the backend's own pitched copies where it has them") {
  const std::string place = GENERATE("sim_full:0", "sim_plain:0", "sim_bare:0");
  const Device device(place);
  const Stream stream(device);
  Bytes picture = pattern(50 * 23);
  const Buffer first(stream, 64 * 23), second(stream, 41 * 23);
  stream.copy_2d(first, 64, ConstHostSpan(picture), 50, 37, 23);
  stream.copy_2d(second, 41, first, 64, 37, 23);
  stream.copy_2d(picture, 50, second, 41, 37, 23);
  stream.synchronize();
  CHECK(controls_of(device).copies_2d == (device.has(Capability::copy_2d) ? 3 : 0));
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

}  // namespace copy_test
