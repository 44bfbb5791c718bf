// SPDX-License-Identifier: Apache-2.0
// Pitched copies: every line is copied, and nothing between the lines.
#include <cstring>

#include "support.h"

namespace anyplace::conformance::copies_2d_cases {
namespace {

struct Shape {
  std::string label;
  std::uint64_t width;
  std::uint64_t rows;
  std::uint64_t destination_pitch;
  std::uint64_t source_pitch;
};

const std::vector<Shape> shapes = {
    {"one line", 100, 1, 100, 100},
    {"one column", 1, 100, 16, 8},
    {"lines without gaps", 128, 64, 128, 128},
    {"a gap in the source", 100, 37, 100, 256},
    {"a gap in the destination", 100, 37, 256, 100},
    {"different gaps", 100, 37, 300, 128},
    {"odd widths and pitches", 37, 53, 41, 59},
    {"wide lines", 70001, 20, 80000, 70003},
    {"many lines", 16, 5000, 32, 24},
    {"more lines than 16 bits can count", 2, 70001, 5, 3},
    {"a pitch far wider than the line", 5, 40, 4096, 7},
};

std::uint64_t extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows) {
  return pitch * (rows - 1) + width;
}

/// The last line ends with the width, so that a copy that goes a pitch further fails the range check or changes the
/// bytes after it.
Bytes expected_of(const Shape& shape, const Bytes& source, std::uint64_t all, std::uint8_t around) {
  Bytes expected(static_cast<std::size_t>(all), around);
  for (std::uint64_t row = 0; row < shape.rows; ++row) {
    std::memcpy(expected.data() + row * shape.destination_pitch, source.data() + row * shape.source_pitch, shape.width);
  }
  return expected;
}

ANYPLACE_CASES(shapes, "pitched copies", "memory.copies_2d", "{} from host to device") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes source = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const std::uint64_t all = extent(parameter.destination_pitch, parameter.width, parameter.rows) + 256;
  const Buffer destination = filled(stream, all, 0xee);
  CALL(stream.copy_2d(destination, parameter.destination_pitch, source, parameter.source_pitch, parameter.width,
                      parameter.rows));
  CHECK_BYTES(read(stream, destination), expected_of(parameter, source, all, 0xee));
}

ANYPLACE_CASES(shapes, "pitched copies", "memory.copies_2d", "{} from device to host") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const Buffer source = upload(stream, contents);
  Bytes host(static_cast<std::size_t>(extent(parameter.destination_pitch, parameter.width, parameter.rows) + 256),
             0xee);
  CALL(stream.copy_2d(host, parameter.destination_pitch, source, parameter.source_pitch, parameter.width,
                      parameter.rows));
  CALL(stream.synchronize());
  CHECK_BYTES(host, expected_of(parameter, contents, host.size(), 0xee));
}

ANYPLACE_CASES(shapes, "pitched copies", "memory.copies_2d", "{} on one device") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const Buffer source = upload(stream, contents);
  const std::uint64_t all = extent(parameter.destination_pitch, parameter.width, parameter.rows) + 256;
  const Buffer destination = filled(stream, all, 0xee);
  CALL(stream.copy_2d(destination, parameter.destination_pitch, source, parameter.source_pitch, parameter.width,
                      parameter.rows));
  CHECK_BYTES(read(stream, destination), expected_of(parameter, contents, all, 0xee));
}

ANYPLACE_CASES(shapes, "pitched copies", "memory.copies_2d", "{} between two devices", second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.second()));
  const Bytes contents = pattern(extent(parameter.source_pitch, parameter.width, parameter.rows));
  const Buffer source = upload(stream, contents);
  const std::uint64_t all = extent(parameter.destination_pitch, parameter.width, parameter.rows) + 256;
  const Buffer destination = filled(far, all, 0xee);
  CALL(stream.copy_2d(destination, parameter.destination_pitch, source, parameter.source_pitch, parameter.width,
                      parameter.rows));
  CALL(stream.synchronize());
  CHECK_BYTES(read(destination), expected_of(parameter, contents, all, 0xee));
}

ANYPLACE_CASE("pitched copies", "memory.copies_2d", "a tile is taken out of a picture and put into another") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t pitch = 640;
  const Bytes picture = pattern(pitch * 480);
  const Buffer source = upload(stream, picture);
  const Buffer destination = filled(stream, picture.size(), 0);
  CALL(stream.copy_2d(destination.sub(30 * pitch + 40), pitch, source.sub(100 * pitch + 200), pitch, 64, 48));
  Bytes expected(picture.size(), 0);
  for (std::size_t row = 0; row < 48; ++row) {
    std::memcpy(expected.data() + (30 + row) * pitch + 40, picture.data() + (100 + row) * pitch + 200, 64);
  }
  CHECK_BYTES(read(stream, destination), expected);
}

ANYPLACE_CASE("pitched copies", "memory.copies_2d", "pitched copies run in their stream's order",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer source = filled(stream, 4096, 1);
  const Buffer destination = filled(stream, 4096, 0);
  gate.hold(stream);
  CALL(stream.memset8(source, 2));
  CALL(stream.copy_2d(destination, 64, source, 64, 64, 64));
  CHECK_STAYS_FALSE(stream.query());
  gate.open();
  CHECK_BYTES(read(stream, destination), Bytes(4096, 2));
}

ANYPLACE_CASE("pitched copies", "memory.copies_2d", "the lines of two copies may interleave") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes even(500, 2);
  const Bytes odd(500, 3);
  const Buffer buffer = filled(stream, 1000, 0);
  CALL(stream.copy_2d(buffer.sub(0), 20, even, 10, 10, 50));
  CALL(stream.copy_2d(buffer.sub(10), 20, odd, 10, 10, 50));
  Bytes expected(1000);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i / 10 % 2 == 0 ? 2 : 3;
  CHECK_BYTES(read(stream, buffer), expected);
}

}  // namespace
}  // namespace anyplace::conformance::copies_2d_cases
