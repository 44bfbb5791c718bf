// SPDX-License-Identifier: Apache-2.0
// Copies and fills by address, and copies within host memory.
#include <cstring>
#include <functional>

#include "support.h"

namespace anyplace::conformance::addresses_copies_cases {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {{"1 byte", 1}, {"257 bytes", 257}, {"5 MiB and a byte", 5 * mebibyte + 1}};

Address at(BufferView buffer, std::uint64_t offset) { return {CALL(buffer.address()) + offset}; }

/// The expected contents of memory of `all` bytes of 0xee after `contents` was written at `offset`.
Bytes placed(std::uint64_t all, std::uint64_t offset, const Bytes& contents) {
  Bytes expected(static_cast<std::size_t>(all), 0xee);
  std::memcpy(expected.data() + offset, contents.data(), contents.size());
  return expected;
}

// ---- Copies --------------------------------------------------------------------------------------------------------

ANYPLACE_CASES(sizes, "addresses", "memory.by_address",
               "a copy of {} to the device, within it and back writes its bytes and no others") {
  const Stream stream = CALL(Stream(run.device()));
  const std::uint64_t all = parameter.bytes + 600;
  const Bytes contents = pattern(parameter.bytes);
  const Buffer first = filled(stream, all, 0xee);
  const Buffer second = filled(stream, all, 0xee);
  Bytes host(static_cast<std::size_t>(all), 0xee);
  CALL(stream.copy(at(first, 301), Address(contents.data()), parameter.bytes));
  CALL(stream.copy(at(second, 17), at(first, 301), parameter.bytes));
  CALL(stream.copy(Address(host.data() + 5), at(second, 17), parameter.bytes));
  CALL(stream.synchronize());
  CHECK_BYTES(read(stream, first), placed(all, 301, contents));
  CHECK_BYTES(read(stream, second), placed(all, 17, contents));
  CHECK_BYTES(host, placed(all, 5, contents));
}

ANYPLACE_CASES(sizes, "addresses", "memory.by_address", "a copy of {} reaches a second device, and comes back",
               second_device) {
  const Stream here = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.second()));
  const Bytes contents = pattern(parameter.bytes);
  const Buffer source = upload(here, contents);
  const Buffer far = filled(there, parameter.bytes, 0);
  const Buffer back = filled(here, parameter.bytes, 0);
  CALL(here.copy(at(far, 0), at(source, 0), parameter.bytes));
  CALL(here.copy(at(back, 0), at(far, 0), parameter.bytes));
  CHECK_BYTES(read(here, back), contents);
}

ANYPLACE_CASES(sizes, "addresses", "memory.by_address",
               "a copy of {} reaches a device of another backend, and comes back", other_backend) {
  const Stream here = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.other()));
  const Bytes contents = pattern(parameter.bytes);
  const Buffer source = upload(here, contents);
  const Buffer far = filled(there, parameter.bytes, 0);
  const Buffer back = filled(here, parameter.bytes, 0);
  CALL(here.copy(at(far, 0), at(source, 0), parameter.bytes));
  CALL(here.copy(at(back, 0), at(far, 0), parameter.bytes));
  CHECK_BYTES(read(here, back), contents);
}

ANYPLACE_CASE("addresses", "memory.by_address", "pitched copies move the lines and leave what is between them alone") {
  const Stream stream = CALL(Stream(run.device()));
  constexpr std::uint64_t rows = 37, width = 100, pitch = 128, narrow = 111;
  const Bytes contents = pattern(rows * narrow);
  const Buffer first = filled(stream, rows * pitch, 0xee);
  const Buffer second = filled(stream, rows * narrow, 0xee);
  Bytes host(rows * pitch, 0xee);
  CALL(stream.copy_2d(at(first, 0), pitch, Address(contents.data()), narrow, width, rows));
  CALL(stream.copy_2d(at(second, 0), narrow, at(first, 0), pitch, width, rows));
  CALL(stream.copy_2d(Address(host.data()), pitch, at(second, 0), narrow, width, rows));
  CALL(stream.synchronize());
  Bytes wide(rows * pitch, 0xee), tight(rows * narrow, 0xee);
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::memcpy(wide.data() + row * pitch, contents.data() + row * narrow, width);
    std::memcpy(tight.data() + row * narrow, contents.data() + row * narrow, width);
  }
  CHECK_BYTES(read(stream, first), wide);
  CHECK_BYTES(read(stream, second), tight);
  CHECK_BYTES(host, wide);
}

ANYPLACE_CASE("addresses", "memory.by_address", "pinned memory that a copy uses isn't handed out before it is done",
              Capability::host_functions, Capability::pinned_memory) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 4096, 0);
  HostBuffer pinned = CALL(HostBuffer(run.device(), 4096));
  std::memset(pinned.data(), 7, 4096);
  const auto address = reinterpret_cast<std::uintptr_t>(pinned.data());
  gate.hold(stream);
  CALL(stream.copy(at(buffer, 0), Address(pinned.data()), 4096));
  CALL(pinned = HostBuffer());
  const HostBuffer next = CALL(HostBuffer(run.device(), 4096));
  CHECK(reinterpret_cast<std::uintptr_t>(next.data()) != address);
  gate.open();
  CHECK_BYTES(read(stream, buffer), Bytes(4096, 7));
}

struct Misuse {
  std::string label;
  std::function<void(StreamView stream, std::uint64_t buffer, std::uint8_t* host)> call;
};

constexpr std::uint64_t room = 4096;

const std::vector<Misuse> misuses = {
    {"a source beyond its allocation",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.copy(Address(h), Address(b + 1), room); }},
    {"a destination beyond its allocation",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.copy(Address(b + room - 1), Address(h), 2); }},
    {"a source that is null",
     [](StreamView s, std::uint64_t b, std::uint8_t*) { s.copy(Address(b), Address(nullptr), 1); }},
    {"a destination that is null",
     [](StreamView s, std::uint64_t b, std::uint8_t*) { s.copy(Address(nullptr), Address(b), 1); }},
    {"a range that wraps around",
     [](StreamView s, std::uint64_t, std::uint8_t* h) { s.copy(Address(h), Address(UINT64_MAX - 7), 64); }},
    {"ranges that overlap on the device",
     [](StreamView s, std::uint64_t b, std::uint8_t*) { s.copy(Address(b), Address(b + 100), 101); }},
    {"ranges that overlap on the host",
     [](StreamView s, std::uint64_t, std::uint8_t* h) { s.copy(Address(h + 100), Address(h), 101); }},
    {"lines beyond their allocation",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.copy_2d(Address(h), 100, Address(b), 1024, 100, 5); }},
    {"a pitch less than the width",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.copy_2d(Address(h), 99, Address(b), 100, 100, 5); }},
    {"spans of two sizes",
     [](StreamView s, std::uint64_t, std::uint8_t* h) { s.copy(HostSpan(h, 9), ConstHostSpan(h + 100, 8)); }},
    {"spans that overlap",
     [](StreamView s, std::uint64_t, std::uint8_t* h) { s.copy(HostSpan(h, 9), ConstHostSpan(h + 8, 9)); }},
    {"a pattern of 3 bytes", [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill(Address(b), h, 3, 9); }},
    {"a pattern of 0 bytes", [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill(Address(b), h, 0, 0); }},
    {"a pattern of 256 bytes", [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill(Address(b), h, 256, 512); }},
    {"a pattern that is null", [](StreamView s, std::uint64_t b, std::uint8_t*) { s.fill(Address(b), nullptr, 4, 8); }},
    {"half a pattern", [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill(Address(b), h, 8, 12); }},
    {"a fill beyond its allocation",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill(Address(b + 8), h, 8, room); }},
    {"filled lines beyond their allocation",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill_2d(Address(b), 1024, h, 8, 8, 5); }},
    {"filled lines wider than their pitch",
     [](StreamView s, std::uint64_t b, std::uint8_t* h) { s.fill_2d(Address(b), 8, h, 8, 16, 2); }},
};

ANYPLACE_CASES(misuses, "addresses", "memory.by_address", "{} is refused, and nothing is written") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, room, 0xee);
  Bytes host(2 * room, 0xaa);
  CHECK_ERROR(invalid_argument, parameter.call(stream, buffer.address(), host.data()));
  CALL(stream.synchronize());
  CHECK_BYTES(read(stream, buffer), Bytes(room, 0xee));
  CHECK_BYTES(host, Bytes(2 * room, 0xaa));
}

ANYPLACE_CASE("addresses", "memory.by_address", "copies and fills of 0 bytes do nothing, whatever the address") {
  const Stream stream = CALL(Stream(run.device()));
  const std::uint8_t byte = 1;
  CALL(stream.copy(Address(nullptr), Address(nullptr), 0));
  CALL(stream.copy_2d(Address(nullptr), 0, Address(nullptr), 0, 0, 5));
  CALL(stream.copy(HostSpan(), ConstHostSpan()));
  CALL(stream.fill(Address(nullptr), &byte, 1, 0));
  CALL(stream.fill_2d(Address(nullptr), 0, &byte, 1, 8, 0));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("addresses", "memory.by_address", "a copy or fill without memory of the stream's device is refused",
              second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.second()));
  const Buffer far = filled(there, 4096, 1);
  const Buffer other = filled(there, 4096, 1);
  Bytes host(4096);
  CHECK_ERROR(invalid_argument, stream.copy(Address(host.data()), Address(far.address()), 4096));
  CHECK_ERROR(invalid_argument, stream.copy(Address(other.address()), Address(far.address()), 4096));
  CHECK_ERROR(invalid_argument, stream.fill(Address(far.address()), host.data(), 1, 4096));
}

// ---- Host memory ---------------------------------------------------------------------------------------------------

ANYPLACE_CASES(sizes, "addresses", "memory.host_copies",
               "{} from host to host arrive whole, and nothing beside them is written") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(parameter.bytes);
  const std::uint64_t all = parameter.bytes + 20;
  Bytes named(static_cast<std::size_t>(all), 0xee), addressed(static_cast<std::size_t>(all), 0xee);
  CALL(stream.copy(HostSpan(named.data() + 9, parameter.bytes), contents));
  CALL(stream.copy(Address(addressed.data() + 3), Address(contents.data()), parameter.bytes));
  CALL(stream.synchronize());
  CHECK_BYTES(named, placed(all, 9, contents));
  CHECK_BYTES(addressed, placed(all, 3, contents));
}

ANYPLACE_CASE("addresses", "memory.host_copies", "lines of the host's memory are copied") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(50 * 20);
  Bytes host(50 * 32, 0xee), expected(50 * 32, 0xee);
  CALL(stream.copy_2d(Address(host.data()), 32, Address(contents.data()), 20, 17, 50));
  CALL(stream.synchronize());
  for (std::uint64_t row = 0; row < 50; ++row) std::memcpy(expected.data() + row * 32, contents.data() + row * 20, 17);
  CHECK_BYTES(host, expected);
}

ANYPLACE_CASE("addresses", "memory.host_copies",
              "a copy of the host's memory comes after earlier work and before later", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  const Bytes up = pattern(4096);
  const Buffer buffer = filled(stream, 4096, 0);
  Bytes first(4096), second(4096);
  const Buffer later = filled(stream, 4096, 0);
  gate.hold(stream);
  CALL(stream.launch_host_func([&] { first = up; }));
  CALL(stream.copy(second, first));
  CALL(stream.launch_host_func([&] { first.assign(4096, 9); }));
  gate.open();
  CALL(stream.synchronize());
  CHECK_BYTES(second, up);
  CHECK_BYTES(first, Bytes(4096, 9));
}

ANYPLACE_CASE("addresses", "memory.host_copies",
              "a fill of the host's memory comes after earlier work and before later", Capability::host_functions) {
  HostGate gate;
  const Stream stream = CALL(Stream(run.device()));
  Bytes first(4096, 1), second(4096, 1);
  const std::uint8_t element = 7;
  bool filled_late = false;
  gate.hold(stream);
  CALL(stream.launch_host_func([&] { first.assign(4096, 5); }));
  CALL(stream.fill(Address(first.data()), &element, 1, 4096));
  CALL(stream.launch_host_func([&] { filled_late = first == Bytes(4096, 7); }));
  CALL(stream.copy(second, first));
  CALL(stream.launch_host_func([&] { first.assign(4096, 9); }));
  CHECK_STAYS_FALSE(first != Bytes(4096, 1) || second != Bytes(4096, 1));
  gate.open();
  CALL(stream.synchronize());
  CHECK(filled_late);
  CHECK_BYTES(second, Bytes(4096, 7));
  CHECK_BYTES(first, Bytes(4096, 9));
}

// ---- Fills ---------------------------------------------------------------------------------------------------------

struct Width {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Width> widths = {{"1", 1},   {"2", 2},   {"4", 4},   {"8", 8},
                                   {"16", 16}, {"32", 32}, {"64", 64}, {"128", 128}};

Bytes repeated(std::uint64_t all, std::uint64_t offset, const Bytes& element, std::uint64_t count) {
  Bytes expected(static_cast<std::size_t>(all), 0xee);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(expected.data() + offset + i * element.size(), element.data(), element.size());
  }
  return expected;
}

ANYPLACE_CASES(widths, "fills", "memory.fills", "a pattern of {} bytes is repeated exactly, from any address") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes element = pattern(parameter.bytes);
  for (const std::uint64_t count : {1, 2, 3, 1001}) {
    for (const std::uint64_t offset : {0, 1, 6, 128}) {
      const std::uint64_t all = count * parameter.bytes + 300;
      const Buffer buffer = filled(stream, all, 0xee);
      CALL(stream.fill(at(buffer, offset), element.data(), element.size(), count * element.size()));
      CHECK_BYTES(read(stream, buffer), repeated(all, offset, element, count));
    }
  }
}

ANYPLACE_CASES(widths, "fills", "memory.fills",
               "lines are filled with a pattern of {} bytes, and nothing between them") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes element = pattern(parameter.bytes, 3);
  for (const std::uint64_t rows : {1, 2, 5, 64}) {
    const std::uint64_t width = 6 * parameter.bytes;
    for (const std::uint64_t pitch : {width, width + 7}) {
      const Buffer buffer = filled(stream, rows * pitch + 2, 0xee);
      CALL(stream.fill_2d(at(buffer, 1), pitch, element.data(), element.size(), width, rows));
      Bytes expected(rows * pitch + 2, 0xee);
      for (std::uint64_t i = 0; i < rows * 6; ++i) {
        std::memcpy(expected.data() + 1 + i / 6 * pitch + i % 6 * parameter.bytes, element.data(), element.size());
      }
      CHECK_BYTES(read(stream, buffer), expected);
    }
  }
}

ANYPLACE_CASES(widths, "fills", "memory.fills", "the host's memory is filled with a pattern of {} bytes") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes element = pattern(parameter.bytes, 5);
  Bytes host(100 * parameter.bytes + 3, 0xee);
  CALL(stream.fill(Address(host.data() + 3), element.data(), element.size(), 100 * parameter.bytes));
  CALL(stream.synchronize());
  CHECK_BYTES(host, repeated(host.size(), 3, element, 100));
  Bytes lines(4 * 200 * parameter.bytes, 0xee), expected(4 * 200 * parameter.bytes, 0xee);
  CALL(stream.fill_2d(Address(lines.data()), 200 * parameter.bytes, element.data(), element.size(),
                      100 * parameter.bytes, 4));
  CALL(stream.synchronize());
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::memcpy(expected.data() + (i / 100 * 200 + i % 100) * parameter.bytes, element.data(), element.size());
  }
  CHECK_BYTES(lines, expected);
}

ANYPLACE_CASE("fills", "memory.fills", "elements of 32, 64 and 128 bytes of a type are set") {
  const Stream stream = CALL(Stream(run.device()));
  struct Wide {
    std::uint8_t bytes[128];
  };
  Wide element;
  const Bytes contents = pattern(sizeof(element));
  std::memcpy(element.bytes, contents.data(), sizeof(element));
  const Buffer buffer = filled(stream, 10 * sizeof(element), 0xee);
  CALL(stream.fill(buffer.as<Wide>(), element));
  CHECK_BYTES(read(stream, buffer), repeated(10 * sizeof(element), 0, contents, 10));
}

}  // namespace
}  // namespace anyplace::conformance::addresses_copies_cases
