// SPDX-License-Identifier: Apache-2.0
// Copies between two devices of a backend, and between backends.
#include <cstring>

#include "support.h"

namespace anyplace::conformance::copies_between_cases {
namespace {

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {
    {"1 byte", 1}, {"4097 bytes", 4097}, {"1 MiB", 1 << 20}, {"33 MiB and 5 bytes", (33 << 20) + 5}};

/// Copies there and back on `stream`, beyond a margin, and compares.
void check_there_and_back(StreamView stream, StreamView home_of_far, std::uint64_t bytes) {
  constexpr std::uint64_t margin = 256;
  const Bytes contents = pattern(bytes);
  const Buffer near = upload(stream, contents);
  const Buffer back = filled(stream, bytes, 0);
  const Buffer far = filled(home_of_far, bytes + 2 * margin, 0xee);
  CALL(far.record_stream(stream));
  CALL(stream.copy(far.sub(margin, bytes), near));
  CALL(stream.copy(back, far.sub(margin, bytes)));
  CALL(stream.synchronize());
  CHECK_BYTES(read(back), contents);
  Bytes expected(static_cast<std::size_t>(bytes + 2 * margin), 0xee);
  std::memcpy(expected.data() + margin, contents.data(), contents.size());
  CHECK_BYTES(read(far), expected);
}

ANYPLACE_CASES(sizes, "copies", "memory.copies", "{} between two devices arrive whole, there and back", second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.second()));
  check_there_and_back(stream, far, parameter.bytes);
}

ANYPLACE_CASE("copies", "memory.copies", "a copy between devices goes to the device that was named", second_device) {
  const Stream near_stream = CALL(Stream(run.device()));
  const Stream far_stream = CALL(Stream(run.second()));
  const Buffer near = filled(near_stream, 65536, 1);
  const Buffer near_bystander = filled(near_stream, 65536, 2);
  const Buffer far = filled(far_stream, 65536, 3);
  const Buffer far_bystander = filled(far_stream, 65536, 4);
  CALL(near_stream.copy(far, near));
  CALL(near_stream.synchronize());
  CHECK_BYTES(read(near), Bytes(65536, 1));
  CHECK_BYTES(read(near_bystander), Bytes(65536, 2));
  CHECK_BYTES(read(far), Bytes(65536, 1));
  CHECK_BYTES(read(far_bystander), Bytes(65536, 4));
}

ANYPLACE_CASE("copies", "memory.copies", "a copy between two devices may run on either device's stream",
              second_device) {
  const Stream near_stream = CALL(Stream(run.device()));
  const Stream far_stream = CALL(Stream(run.second()));
  const Bytes contents = pattern(300000);
  for (int round = 0; round < 2; ++round) {
    const StreamView stream = round == 0 ? near_stream.view() : far_stream.view();
    const Buffer near = upload(near_stream, contents);
    const Buffer far = filled(far_stream, contents.size(), 0);
    CALL(stream.copy(far, near));
    CALL(stream.memset8(round == 0 ? near.view() : far.sub(0, 0), 0));
    CALL(stream.synchronize());
    CHECK_BYTES(read(far), contents);
  }
}

ANYPLACE_CASE("copies", "memory.copies", "a copy between devices runs in its stream's order", second_device,
              Capability::peer_copy, Capability::host_functions) {
  HostGate gate;
  const Stream near_stream = CALL(Stream(run.device()));
  const Stream far_stream = CALL(Stream(run.second()));
  const Buffer near = filled(near_stream, 65536, 1);
  const Buffer far = filled(far_stream, 65536, 0);
  gate.hold(near_stream);
  CALL(near_stream.memset8(near, 2));
  CALL(near_stream.copy(far, near));
  CHECK_STAYS_FALSE(near_stream.query());
  gate.open();
  CALL(near_stream.synchronize());
  CHECK_BYTES(read(far), Bytes(65536, 2));
}

ANYPLACE_CASES(sizes, "copies", "memory.copies", "{} between two backends arrive whole, there and back",
               other_backend) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.other()));
  check_there_and_back(stream, far, parameter.bytes);
}

ANYPLACE_CASE("copies", "memory.copies", "a copy between backends may run on the other backend's stream",
              other_backend) {
  const Stream stream = CALL(Stream(run.other()));
  const Stream far = CALL(Stream(run.device()));
  check_there_and_back(stream, far, 300001);
}

ANYPLACE_CASE("copies", "memory.copies", "a copy between backends runs in its stream's order", other_backend) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream other = CALL(Stream(run.other()));
  const Buffer near = filled(stream, 5 << 20, 0);
  const Buffer far = filled(other, 5 << 20, 0);
  CALL(far.record_stream(stream));
  for (int round = 1; round <= 10; ++round) {
    CALL(stream.memset8(near, static_cast<std::uint8_t>(round)));
    CALL(stream.copy(far, near));
    CALL(stream.memset8(near, 0xff));
  }
  CALL(stream.synchronize());
  CHECK_BYTES(read(far), Bytes(5 << 20, 10));
}

ANYPLACE_CASE("copies", "memory.copies", "a pitched copy between backends moves the lines, and nothing between them",
              other_backend) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream other = CALL(Stream(run.other()));
  const Bytes contents = pattern(100 * 64);
  const Buffer near = upload(stream, contents);
  const Buffer far = filled(other, 200 * 64, 0xee);
  CALL(stream.copy_2d(far, 200, near, 100, 60, 64));
  CALL(stream.synchronize());
  Bytes expected(200 * 64, 0xee);
  for (std::size_t row = 0; row < 64; ++row) std::memcpy(expected.data() + 200 * row, contents.data() + 100 * row, 60);
  CHECK_BYTES(read(far), expected);
}

}  // namespace
}  // namespace anyplace::conformance::copies_between_cases
