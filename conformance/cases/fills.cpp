// SPDX-License-Identifier: Apache-2.0
// memset: elements of 8, 16 and 32 bits. Every element is set, and no other byte.
#include <cstring>

#include "table_backend.h"

namespace anyplace::conformance::fills_cases {
namespace {

struct Fill {
  std::string label;
  unsigned width;       ///< bytes of an element
  std::uint64_t count;  ///< elements
};

const std::vector<Fill> fills = {
    {"1 element of 8 bits", 1, 1},         {"3 elements of 8 bits", 1, 3},
    {"1000 elements of 8 bits", 1, 1000},  {"a million and one elements of 8 bits", 1, 1000001},
    {"1 element of 16 bits", 2, 1},        {"5 elements of 16 bits", 2, 5},
    {"1000 elements of 16 bits", 2, 1000}, {"a million and one elements of 16 bits", 2, 1000001},
    {"1 element of 32 bits", 4, 1},        {"7 elements of 32 bits", 4, 7},
    {"1000 elements of 32 bits", 4, 1000}, {"a million and one elements of 32 bits", 4, 1000001},
};

void fill(StreamView stream, BufferView where, unsigned width, std::uint32_t value) {
  switch (width) {
    case 1:
      CALL(stream.memset8(where, static_cast<std::uint8_t>(value)));
      break;
    case 2:
      CALL(stream.memset16(where, static_cast<std::uint16_t>(value)));
      break;
    default:
      CALL(stream.memset32(where, value));
  }
}

/// All bytes of the value differ, so that a wrong width or byte order shows.
constexpr std::uint32_t value = 0x12345678;

void put(Bytes& expected, std::uint64_t offset, unsigned width, std::uint64_t count, std::uint32_t element) {
  const auto narrow8 = static_cast<std::uint8_t>(element);
  const auto narrow16 = static_cast<std::uint16_t>(element);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint8_t* const to = expected.data() + offset + i * width;
    if (width == 1) std::memcpy(to, &narrow8, 1);
    if (width == 2) std::memcpy(to, &narrow16, 2);
    if (width == 4) std::memcpy(to, &element, 4);
  }
}

ANYPLACE_CASES(fills, "fills", "memory.fills", "{} are set and nothing beside them") {
  const Stream stream = CALL(Stream(run.device()));
  const std::uint64_t bytes = parameter.width * parameter.count;
  const Bytes before = pattern(bytes + 128);
  const Buffer buffer = upload(stream, before);
  fill(stream, buffer.sub(64, bytes), parameter.width, value);
  Bytes expected = before;
  put(expected, 64, parameter.width, parameter.count, value);
  CHECK_BYTES(read(stream, buffer), expected);
}

struct Start {
  std::string label;
  unsigned width;
  std::uint64_t offset;
};

const std::vector<Start> starts = {{"8 bits from byte 1", 1, 1},     {"8 bits from byte 7", 1, 7},
                                   {"16 bits from byte 2", 2, 2},    {"16 bits from byte 14", 2, 14},
                                   {"32 bits from byte 4", 4, 4},    {"32 bits from byte 12", 4, 12},
                                   {"32 bits from byte 252", 4, 252}};

ANYPLACE_CASES(starts, "fills", "memory.fills", "elements of {} are exact") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes before = pattern(4096);
  const Buffer buffer = upload(stream, before);
  fill(stream, buffer.sub(parameter.offset, 900 * parameter.width), parameter.width, value);
  Bytes expected = before;
  put(expected, parameter.offset, parameter.width, 900, value);
  CHECK_BYTES(read(stream, buffer), expected);
}

struct Narrow {
  std::string label;
  unsigned width;
};
const std::vector<Narrow> narrow = {{"8 bits", 1}, {"16 bits", 2}};

ANYPLACE_CASES(narrow, "fills", "memory.fills", "elements of {} in each count from each address are exact") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t slot = 64;
  constexpr std::uint64_t counts = 20;
  const Buffer buffer = filled(stream, 8 * counts * slot, 0xee);
  Bytes expected(8 * counts * slot, 0xee);
  for (std::uint64_t offset = 0; offset < 8; offset += parameter.width) {
    for (std::uint64_t count = 1; count <= counts; ++count) {
      const std::uint64_t begin = (offset * counts + count - 1) * slot + 8 + offset;
      const auto element = static_cast<std::uint32_t>(count | (0x80 + count) << 8);
      fill(stream, buffer.sub(begin, count * parameter.width), parameter.width, element);
      put(expected, begin, parameter.width, count, element);
    }
  }
  CHECK_BYTES(read(stream, buffer), expected);
}

ANYPLACE_CASE("fills", "memory.fills", "a fill takes the low bits of the number that the core gives") {
  TableBackend backend(run);
  const anyplace_stream stream = backend.stream();
  const anyplace_address memory = backend.allocate(64);
  backend.fill(stream, memory, 0xee, 64);
  Bytes expected(64, 0xee);
  MUST(backend, memory_set, stream, memory + 1, 0xdeadbe11, 1, 6);
  put(expected, 1, 1, 6, 0x11);
  MUST(backend, memory_set, stream, memory + 10, 0xdead2322, 2, 5);
  put(expected, 10, 2, 5, 0x2322);
  CHECK_BYTES(backend.read(stream, memory, 64), expected);
}

struct Value {
  std::string label;
  std::uint32_t value;
};

const std::vector<Value> values = {{"0", 0}, {"all ones", 0xffffffff}, {"the sign bit", 0x80000000}, {"1", 1}};

ANYPLACE_CASES(values, "fills", "memory.fills", "the value {} is set in every width") {
  const Stream stream = CALL(Stream(run.device()));
  for (const unsigned width : {1u, 2u, 4u}) {
    const Buffer buffer = filled(stream, 1024, 0x5a);
    fill(stream, buffer, width, parameter.value);
    Bytes expected(1024);
    put(expected, 0, width, 1024 / width, parameter.value);
    CHECK_BYTES(read(stream, buffer), expected);
  }
}

ANYPLACE_CASE("fills", "memory.fills", "a big fill reaches the last byte") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t bytes = (48 << 20) + 1;
  const Buffer buffer = filled(stream, bytes, 1);
  CALL(stream.memset8(buffer, 2));
  CHECK_BYTES(read(stream, buffer), Bytes(bytes, 2));
}

ANYPLACE_CASE("fills", "memory.fills", "fills of managed memory are seen by the host", Capability::managed_memory) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 4096, {.kind = MemoryKind::managed}));
  CALL(stream.memset32(buffer, value));
  CALL(stream.synchronize());
  Bytes expected(4096);
  put(expected, 0, 4, 1024, value);
  const auto* const host = static_cast<const std::uint8_t*>(CALL(buffer.host_data()));
  CHECK_BYTES(Bytes(host, host + 4096), expected);
}

}  // namespace
}  // namespace anyplace::conformance::fills_cases
