// SPDX-License-Identifier: Apache-2.0
// Finding the allocation of an address, and buffers with a requested alignment.
#include <memory>
#include <optional>

#include "support.h"

namespace anyplace::conformance::addresses_cases {
namespace {

struct Expected {
  AddressKind kind;
  Device device;
  std::uint64_t begin;
  std::uint64_t bytes;
};

void check_at(const Expected& expected, std::uint64_t offset) {
  const PointerAttributes found = CALL(pointer_attributes(Address(expected.begin + offset)));
  CHECK(found.kind == expected.kind);
  CHECK(found.device.has_value() && *found.device == expected.device);
  CHECK(found.allocation == expected.begin);
  CHECK(found.size_bytes == expected.bytes);
  CHECK(found.offset == offset);
}

void check_everywhere(const Expected& expected) {
  for (const std::uint64_t offset : {std::uint64_t{0}, expected.bytes / 3, expected.bytes / 2, expected.bytes - 1}) {
    check_at(expected, offset);
  }
  const PointerAttributes behind = CALL(pointer_attributes(Address(expected.begin + expected.bytes)));
  CHECK(behind.kind == AddressKind::unknown || behind.allocation != expected.begin);
}

/// Checks that the address isn't found as memory that was freed: it is in no allocation, or in one of the present ones.
void check_gone(std::uint64_t address) {
  CHECK(CALL(pointer_attributes(Address(address))).kind == AddressKind::unknown);
}

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {
    {"1 byte", 1}, {"700 bytes", 700}, {"1 MiB", 1 << 20}, {"21 MiB and 3 bytes", (21 << 20) + 3}};

ANYPLACE_CASES(sizes, "addresses", "memory.addresses",
               "a buffer of {} is found from each of its addresses, until it is freed") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer before = CALL(Buffer(stream, parameter.bytes));
  Buffer buffer = CALL(Buffer(stream, parameter.bytes));
  const Buffer after = CALL(Buffer(stream, parameter.bytes));
  const std::uint64_t address = CALL(buffer.address());
  check_everywhere({AddressKind::device, run.device(), address, parameter.bytes});
  check_everywhere({AddressKind::device, run.device(), CALL(before.address()), parameter.bytes});
  check_everywhere({AddressKind::device, run.device(), CALL(after.address()), parameter.bytes});
  CALL(buffer = Buffer());
  check_gone(address);
}

ANYPLACE_CASES(sizes, "addresses", "memory.addresses", "{} of each of a device's allocators are found") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  for (const std::shared_ptr<Allocator>& allocator : {caching_allocator(device), raw_allocator(device)}) {
    const std::uint64_t address = CALL(allocator->allocate(stream, parameter.bytes));
    check_everywhere({AddressKind::device, device, address, parameter.bytes});
    CALL(allocator->deallocate(stream, address, parameter.bytes));
    check_gone(address);
  }
}

ANYPLACE_CASE("addresses", "memory.addresses", "pinned memory is found", Capability::pinned_memory) {
  HostBuffer buffer = CALL(HostBuffer(run.device(), 100001));
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data());
  check_everywhere({AddressKind::pinned, run.device(), begin, 100001});
  CALL(buffer = HostBuffer());
  check_gone(begin);
}

ANYPLACE_CASE("addresses", "memory.addresses", "managed memory is found", Capability::managed_memory) {
  const Stream stream = CALL(Stream(run.device()));
  Buffer buffer = CALL(Buffer(stream, 100001, {.kind = MemoryKind::managed}));
  const std::uint64_t begin = CALL(buffer.address());
  check_everywhere({AddressKind::managed, run.device(), begin, 100001});
  CALL(buffer = Buffer());
  check_gone(begin);
}

ANYPLACE_CASE("addresses", "memory.addresses", "registered memory is found", Capability::host_register) {
  Bytes memory(1 << 20);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  {
    const HostRegistration registration = CALL(HostRegistration(run.device(), memory));
    check_everywhere({AddressKind::registered, run.device(), begin, memory.size()});
  }
  check_gone(begin);
}

ANYPLACE_CASE("addresses", "memory.addresses", "wrapped memory is found, inside another allocation and by itself") {
  const Stream stream = CALL(Stream(run.device()));
  Buffer whole = CALL(Buffer(stream, 1 << 16));
  const std::uint64_t begin = CALL(whole.address());
  const Buffer part = CALL(Buffer::from_native(run.device(), begin + 4096, 4096));
  check_at({AddressKind::device, run.device(), begin, 1 << 16}, 5000);
  CALL(whole = Buffer());
  check_at({AddressKind::device, run.device(), begin + 4096, 4096}, 904);
  check_gone(begin);
}

ANYPLACE_CASE("addresses", "memory.addresses", "an address in no allocation is unknown") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 4096));
  const int here = 0;
  const auto there = std::make_unique<int>();
  for (const Address address : {Address(nullptr), Address(&here), Address(there.get()), Address(UINT64_MAX)}) {
    const PointerAttributes found = CALL(pointer_attributes(address));
    CHECK(found.kind == AddressKind::unknown);
    CHECK(!found.device.has_value());
    CHECK(found.allocation == 0 && found.size_bytes == 0 && found.offset == 0);
  }
}

ANYPLACE_CASE("addresses", "memory.addresses", "memory of a second device is found as that device's", second_device) {
  const Stream here = CALL(Stream(run.device()));
  const Stream there = CALL(Stream(run.second()));
  const Buffer one = CALL(Buffer(here, 4096));
  const Buffer other = CALL(Buffer(there, 4096));
  check_everywhere({AddressKind::device, run.device(), CALL(one.address()), 4096});
  check_everywhere({AddressKind::device, run.second(), CALL(other.address()), 4096});
}

// ---- Alignment -----------------------------------------------------------------------------------------------------

struct Alignment {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Alignment> alignments = {
    {"1", 1},           {"256 bytes", 256},  {"512 bytes", 512}, {"4 KiB", 4096}, {"64 KiB", 64 << 10},
    {"2 MiB", 2 << 20}, {"16 MiB", 16 << 20}};

ANYPLACE_CASES(alignments, "addresses", "memory.alignment",
               "buffers aligned to {} begin at such an address, and every byte can be used") {
  const Stream stream = CALL(Stream(run.device()));
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{3 << 20}}) {
    const Buffer shift = CALL(Buffer(stream, 300));
    const Buffer buffer = CALL(Buffer(stream, bytes, {.alignment = parameter.bytes}));
    CHECK(CALL(buffer.address()) % parameter.bytes == 0);
    CHECK(buffer.size_bytes() == bytes);
    const Bytes contents = pattern(bytes);
    CALL(stream.copy(buffer, contents));
    CHECK_BYTES(read(stream, buffer), contents);
  }
}

ANYPLACE_CASE("addresses", "memory.alignment", "managed buffers are aligned", Capability::managed_memory) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 5000, {.kind = MemoryKind::managed, .alignment = 1 << 16}));
  CHECK(CALL(buffer.address()) % (1 << 16) == 0);
  Bytes contents = pattern(5000);
  CALL(stream.copy(buffer, contents));
  CALL(stream.synchronize());
  const auto* const host = static_cast<const std::uint8_t*>(CALL(buffer.host_data()));
  CHECK_BYTES(Bytes(host, host + 5000), contents);
}

ANYPLACE_CASE("addresses", "memory.alignment", "the memory of aligned buffers can all be allocated again") {
  const Stream stream = CALL(Stream(run.device()));
  const auto allocated = [&] { return CALL(memory_stats(run.device())).at("allocated_bytes.all.current"); };
  const auto before = allocated();
  for (int i = 0; i < 50; ++i) {
    const Buffer buffer = CALL(Buffer(stream, 5000, {.alignment = 1 << 16}));
    CALL(stream.memset8(buffer, 1));
  }
  CALL(stream.synchronize());
  CHECK(allocated() == before);
}

ANYPLACE_CASE("addresses", "memory.alignment", "an alignment that is no power of two is refused") {
  const Stream stream = CALL(Stream(run.device()));
  for (const std::uint64_t alignment : {std::uint64_t{3}, std::uint64_t{768}, UINT64_MAX}) {
    CHECK_ERROR(invalid_argument, Buffer(stream, 4096, {.alignment = alignment}));
  }
  CHECK_ERROR(out_of_memory, Buffer(stream, UINT64_MAX - 4096, {.alignment = 1 << 20}));
  CHECK_ERROR(out_of_memory, Buffer(stream, 4096, {.alignment = std::uint64_t{1} << 63}));
}

}  // namespace
}  // namespace anyplace::conformance::addresses_cases
