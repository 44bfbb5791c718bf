// SPDX-License-Identifier: Apache-2.0
// Sizes and overlaps that are out of range are refused, with nothing submitted.
#include <functional>

#include "support.h"

namespace anyplace::conformance::ranges_cases {
namespace {

struct Ground {
  explicit Ground(const Run& run)
      : stream(CALL(Stream(run.device()))), buffer(filled(stream, 1024, 7)), host(1024, 9) {}

  Stream stream;
  Buffer buffer;
  Bytes host;
};

struct BadCall {
  std::string label;
  std::function<void(Ground&)> call;
};

constexpr std::uint64_t huge = ~std::uint64_t{0};

const std::vector<BadCall> bad_calls = {
    {"a copy to the device from less", [](Ground& g) { g.stream.copy(g.buffer, ConstHostSpan(g.host.data(), 1023)); }},
    {"a copy to the device from more",
     [](Ground& g) { g.stream.copy(g.buffer.sub(0, 1000), ConstHostSpan(g.host.data(), 1001)); }},
    {"a copy to the host from less", [](Ground& g) { g.stream.copy(g.host, g.buffer.sub(1)); }},
    {"a copy to the host from more", [](Ground& g) { g.stream.copy(HostSpan(g.host.data(), 1000), g.buffer); }},
    {"a copy on the device of two sizes",
     [](Ground& g) { g.stream.copy(g.buffer.sub(0, 500), g.buffer.sub(500, 501)); }},
    {"a copy from a null pointer", [](Ground& g) { g.stream.copy(g.buffer, ConstHostSpan(nullptr, 1024)); }},
    {"a copy to a null pointer", [](Ground& g) { g.stream.copy(HostSpan(nullptr, 1024), g.buffer); }},
    {"a copy onto itself", [](Ground& g) { g.stream.copy(g.buffer, g.buffer); }},
    {"a copy that overlaps by a byte", [](Ground& g) { g.stream.copy(g.buffer.sub(99, 100), g.buffer.sub(0, 100)); }},
    {"a copy that overlaps backwards", [](Ground& g) { g.stream.copy(g.buffer.sub(0, 100), g.buffer.sub(50, 100)); }},
    {"a part past the end", [](Ground& g) { static_cast<void>(g.buffer.sub(0, 1025)); }},
    {"a part that starts past the end", [](Ground& g) { static_cast<void>(g.buffer.sub(1025)); }},
    {"a part whose end is past 64 bits", [](Ground& g) { static_cast<void>(g.buffer.sub(16, huge)); }},
    {"a part of a part past its end", [](Ground& g) { static_cast<void>(g.buffer.sub(0, 16).sub(8, 9)); }},
    {"a view made by hand past the end", [](Ground& g) { g.stream.memset8(BufferView(g.buffer.id(), 1000, 25), 1); }},
    {"a view made by hand past 64 bits", [](Ground& g) { g.stream.memset8(BufferView(g.buffer.id(), 16, huge), 1); }},
    {"memset16 of an odd size", [](Ground& g) { g.stream.memset16(g.buffer.sub(0, 15), 1); }},
    {"memset16 at an odd address", [](Ground& g) { g.stream.memset16(g.buffer.sub(1, 16), 1); }},
    {"memset32 of a size that is no multiple", [](Ground& g) { g.stream.memset32(g.buffer.sub(0, 18), 1); }},
    {"memset32 at an address that is no multiple", [](Ground& g) { g.stream.memset32(g.buffer.sub(2, 16), 1); }},
    {"a pitched copy with a destination pitch below its width",
     [](Ground& g) { g.stream.copy_2d(g.buffer, 15, std::as_const(g.host), 16, 16, 4); }},
    {"a pitched copy with a source pitch below its width",
     [](Ground& g) { g.stream.copy_2d(g.buffer, 16, std::as_const(g.host), 15, 16, 4); }},
    {"a pitched copy with a line past the destination",
     [](Ground& g) { g.stream.copy_2d(g.buffer, 64, std::as_const(g.host), 16, 16, 17); }},
    {"a pitched copy with a line past the source",
     [](Ground& g) { g.stream.copy_2d(g.buffer, 16, std::as_const(g.host), 64, 16, 17); }},
    {"a pitched copy to the host past it", [](Ground& g) { g.stream.copy_2d(g.host, 64, g.buffer, 16, 16, 17); }},
    {"a pitched copy whose size is past 64 bits",
     [](Ground& g) { g.stream.copy_2d(g.buffer, huge / 2, std::as_const(g.host), 16, 16, 4); }},
    {"a pitched copy of more rows than 64 bits hold",
     [](Ground& g) { g.stream.copy_2d(g.buffer, 16, std::as_const(g.host), 16, 16, huge); }},
    {"a pitched copy that overlaps", [](Ground& g) { g.stream.copy_2d(g.buffer.sub(8), 32, g.buffer, 32, 16, 8); }},
};

ANYPLACE_CASES(bad_calls, "ranges", "memory.ranges", "{} is invalid_argument and changes nothing") {
  Ground ground(run);
  const Error error = CHECK_ERROR(invalid_argument, parameter.call(ground));
  CHECK(!error.text().empty());
  CHECK(ground.stream.query());
  CHECK_BYTES(ground.host, Bytes(1024, 9));
  CHECK_BYTES(read(ground.stream, ground.buffer), Bytes(1024, 7));
}

ANYPLACE_CASE("ranges", "memory.ranges", "neighbouring ranges don't overlap") {
  const Ground ground(run);
  CALL(ground.stream.memset8(ground.buffer.sub(0, 512), 3));
  CALL(ground.stream.copy(ground.buffer.sub(512), ground.buffer.sub(0, 512)));
  CHECK_BYTES(read(ground.stream, ground.buffer), Bytes(1024, 3));
}

ANYPLACE_CASE("ranges", "memory.ranges", "a refused call behind pending work is refused at once",
              Capability::host_functions) {
  HostGate gate;
  const Ground ground(run);
  gate.hold(ground.stream);
  CHECK_ERROR(invalid_argument, ground.stream.copy(ground.buffer, ground.buffer));
  CHECK_ERROR(invalid_argument, ground.stream.memset16(ground.buffer.sub(0, 15), 1));
  gate.open();
  CHECK_BYTES(read(ground.stream, ground.buffer), Bytes(1024, 7));
}

}  // namespace
}  // namespace anyplace::conformance::ranges_cases
