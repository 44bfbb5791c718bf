// SPDX-License-Identifier: Apache-2.0
// Copies between host and device and on one device: every byte is copied, and no other.
#include <cstring>

#include "support.h"

namespace anyplace::conformance::copies_cases {
namespace {

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {{"1 byte", 1},          {"3 bytes", 3},
                                 {"257 bytes", 257},     {"4095 bytes", 4095},
                                 {"65536 bytes", 65536}, {"1 MiB and a byte", (1 << 20) + 1},
                                 {"5 MiB", 5 << 20},     {"33 MiB and 7 bytes", (33 << 20) + 7}};

constexpr std::uint64_t margin = 512;

/// The expected contents of `all` bytes of the value `around` after `contents` was written at `offset`.
Bytes placed(std::uint64_t all, std::uint64_t offset, const Bytes& contents, std::uint8_t around) {
  Bytes expected(static_cast<std::size_t>(all), around);
  std::memcpy(expected.data() + offset, contents.data(), contents.size());
  return expected;
}

ANYPLACE_CASES(sizes, "copies", "memory.copies",
               "{} from host to device arrive whole, and nothing beside them is written") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(parameter.bytes);
  const std::uint64_t all = parameter.bytes + 2 * margin;
  const Buffer buffer = filled(stream, all, 0xee);
  CALL(stream.copy(buffer.sub(margin, parameter.bytes), contents));
  CHECK_BYTES(read(stream, buffer), placed(all, margin, contents, 0xee));
}

ANYPLACE_CASES(sizes, "copies", "memory.copies",
               "{} from device to host arrive whole, and nothing beside them is written") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(parameter.bytes);
  const Buffer buffer = upload(stream, contents);
  Bytes host(static_cast<std::size_t>(parameter.bytes + 2 * margin), 0xee);
  CALL(stream.copy(HostSpan(host.data() + margin, parameter.bytes), buffer));
  CALL(stream.synchronize());
  CHECK_BYTES(host, placed(host.size(), margin, contents, 0xee));
}

ANYPLACE_CASES(sizes, "copies", "memory.copies", "{} on one device arrive whole, and nothing beside them is written") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(parameter.bytes);
  const Buffer source = upload(stream, contents);
  const std::uint64_t all = parameter.bytes + 2 * margin;
  const Buffer destination = filled(stream, all, 0xee);
  CALL(stream.copy(destination.sub(margin, parameter.bytes), source));
  CHECK_BYTES(read(stream, destination), placed(all, margin, contents, 0xee));
  CHECK_BYTES(read(stream, source), contents);
}

struct Offsets {
  std::string label;
  std::uint64_t destination;
  std::uint64_t source;
};

const std::vector<Offsets> offsets = {{"1 to 0", 0, 1}, {"0 to 1", 1, 0},     {"3 to 5", 5, 3},
                                      {"7 to 4", 4, 7}, {"255 to 2", 2, 255}, {"8 to 16", 16, 8}};

ANYPLACE_CASES(offsets, "copies", "memory.copies", "a copy on one device from offset {} is exact") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t bytes = 100003;
  const Bytes contents = pattern(bytes + 256);
  const Buffer source = upload(stream, contents);
  const Buffer destination = filled(stream, bytes + 256, 0xee);
  CALL(stream.copy(destination.sub(parameter.destination, bytes), source.sub(parameter.source, bytes)));
  const Bytes part(contents.begin() + static_cast<std::ptrdiff_t>(parameter.source),
                   contents.begin() + static_cast<std::ptrdiff_t>(parameter.source + bytes));
  CHECK_BYTES(read(stream, destination), placed(bytes + 256, parameter.destination, part, 0xee));
}

ANYPLACE_CASES(offsets, "copies", "memory.copies", "a copy between host and device from offset {} is exact") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t bytes = 100003;
  const Bytes contents = pattern(bytes + 256);
  const Buffer buffer = filled(stream, bytes + 256, 0xee);
  CALL(stream.copy(buffer.sub(parameter.destination, bytes), ConstHostSpan(contents.data() + parameter.source, bytes)));
  Bytes back(bytes + 256, 0xdd);
  CALL(stream.copy(HostSpan(back.data() + parameter.source, bytes), buffer.sub(parameter.destination, bytes)));
  CALL(stream.synchronize());
  const Bytes part(contents.begin() + static_cast<std::ptrdiff_t>(parameter.source),
                   contents.begin() + static_cast<std::ptrdiff_t>(parameter.source + bytes));
  CHECK_BYTES(back, placed(bytes + 256, parameter.source, part, 0xdd));
}

ANYPLACE_CASE("copies", "memory.copies", "parts of one buffer are copied within it") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(1 << 16);
  const Buffer buffer = CALL(Buffer(stream, 1 << 17));
  CALL(stream.copy(buffer.sub(0, 1 << 16), contents));
  CALL(stream.copy(buffer.sub(1 << 16), buffer.sub(0, 1 << 16)));
  CALL(stream.memset8(buffer.sub(0, 1 << 16), 0));
  CHECK_BYTES(read(stream, buffer.sub(1 << 16)), contents);
}

ANYPLACE_CASE("copies", "memory.copies", "many small copies fill a buffer") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(20000);
  const Buffer buffer = filled(stream, contents.size(), 0);
  std::uint64_t at = 0;
  for (std::uint64_t step = 1; at < contents.size(); step = step % 97 + 1) {
    const std::uint64_t bytes = std::min<std::uint64_t>(step, contents.size() - at);
    CALL(stream.copy(buffer.sub(at, bytes), ConstHostSpan(contents.data() + at, bytes)));
    at += bytes;
  }
  CHECK_BYTES(read(stream, buffer), contents);
}

ANYPLACE_CASE("copies", "memory.copies", "the default stream copies like any other") {
  const StreamView stream = CALL(run.device().default_stream());
  const Bytes contents = pattern(3 << 20);
  const Buffer first = upload(stream, contents);
  const Buffer second = filled(stream, contents.size(), 0);
  CALL(stream.copy(second, first));
  CHECK_BYTES(read(stream, second), contents);
}

ANYPLACE_CASE("copies", "memory.copies", "copies of several streams at once don't mix") {
  const Device device = run.device();
  constexpr std::uint64_t bytes = 2 << 20;
  std::vector<Stream> streams;
  std::vector<Buffer> buffers;
  std::vector<Bytes> contents;
  std::vector<Bytes> back;
  for (std::uint64_t i = 0; i < 6; ++i) {
    streams.push_back(CALL(Stream(device)));
    buffers.push_back(CALL(Buffer(streams.back(), bytes)));
    contents.push_back(pattern(bytes, i + 1));
    back.emplace_back(bytes, 0);
  }
  for (std::size_t i = 0; i < streams.size(); ++i) CALL(streams[i].copy(buffers[i], contents[i]));
  for (std::size_t i = 0; i < streams.size(); ++i) CALL(streams[i].copy(back[i], buffers[i]));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    CALL(streams[i].synchronize());
    CHECK_BYTES(back[i], contents[i]);
  }
}

ANYPLACE_CASE("copies", "memory.copies", "the source is read when the copy runs, not when it is submitted",
              Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Stream other = CALL(Stream(run.device()));
  const Buffer source = filled(other, 65536, 1);
  const Buffer destination = filled(other, 65536, 0);
  gate.hold(stream);
  CALL(stream.copy(destination, source));
  CALL(other.memset8(source, 2));
  CALL(other.synchronize());
  gate.open();
  CALL(stream.synchronize());
  CHECK_BYTES(read(destination), Bytes(65536, 2));
}

// ---- No-ops

ANYPLACE_CASE("copies", "memory.ranges", "copies of 0 bytes are no-ops in every direction") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 16, 1);
  const Buffer empty = CALL(Buffer(stream, 0));
  CALL(stream.copy(empty, ConstHostSpan()));
  CALL(stream.copy(HostSpan(), empty));
  CALL(stream.copy(empty, empty));
  CALL(stream.copy(buffer.sub(16), empty));
  CALL(stream.copy(buffer.sub(3, 0), ConstHostSpan(nullptr, 0)));
  CALL(stream.memset8(empty, 9));
  CALL(stream.memset32(buffer.sub(16), 9));
  CALL(stream.copy_2d(empty, 0, ConstHostSpan(), 0, 0, 0));
  CALL(stream.copy_2d(buffer, 8, buffer, 8, 0, 5));
  CALL(stream.copy_2d(buffer, 8, buffer, 8, 5, 0));
  CHECK_BYTES(read(stream, buffer), Bytes(16, 1));
}

}  // namespace
}  // namespace anyplace::conformance::copies_cases
