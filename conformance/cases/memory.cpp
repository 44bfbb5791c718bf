// SPDX-License-Identifier: Apache-2.0
// Kinds of memory, native memory, memory figures, and out of memory.
#include <algorithm>
#include <cstring>
#include <map>

#include "support.h"

namespace anyplace::conformance::memory_cases {
namespace {

// ---- Kinds

struct Size {
  std::string label;
  std::uint64_t bytes;
};

const std::vector<Size> sizes = {{"1 byte", 1},
                                 {"255 bytes", 255},
                                 {"256 bytes", 256},
                                 {"257 bytes", 257},
                                 {"4096 bytes", 4096},
                                 {"65537 bytes", 65537},
                                 {"1 MiB", 1 << 20},
                                 {"1 MiB and a byte", (1 << 20) + 1},
                                 {"16 MiB and 3 bytes", (16 << 20) + 3}};

ANYPLACE_CASES(sizes, "memory", "memory.kinds", "{} of device memory can be had, aligned and written to the end") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, parameter.bytes));
  CHECK_EQUAL(buffer.size_bytes(), parameter.bytes);
  CHECK_EQUAL(CALL(buffer.device()), device);
  CHECK(CALL(buffer.address()) != 0);
  CHECK_EQUAL(buffer.address() % 256, 0u);
  CHECK_EQUAL(buffer.address() % device.properties().address_alignment, 0u);
  const Bytes contents = pattern(parameter.bytes);
  CALL(stream.copy(buffer, contents));
  CHECK_BYTES(read(stream, buffer), contents);
}

ANYPLACE_CASE("memory", "memory.kinds", "many small buffers are all aligned, and don't overlap") {
  const Stream stream = CALL(Stream(run.device()));
  const std::uint64_t alignment = run.device().properties().address_alignment;
  std::vector<Buffer> buffers;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (std::uint64_t i = 0; i < 300; ++i) {
    buffers.push_back(CALL(Buffer(stream, i * 7 + 1)));
    const std::uint64_t address = CALL(buffers.back().address());
    CHECK_EQUAL(address % 256, 0u);
    CHECK_EQUAL(address % alignment, 0u);
    ranges.emplace_back(address, i * 7 + 1);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) CHECK(ranges[i - 1].first + ranges[i - 1].second <= ranges[i].first);
}

ANYPLACE_CASE("memory", "memory.kinds",
              "what the caching allocator divides is freed by its address, and not by one inside") {
  const Device device = run.device();
  CALL(configure_allocator(device, AllocatorConfig::parse("segments:classic")));
  const Stream stream = CALL(Stream(device));
  const std::shared_ptr<Allocator> allocator = CALL(caching_allocator(device));
  for (int round = 0; round < 3; ++round) {
    std::map<std::uint64_t, std::uint64_t> live;
    for (const Size& size : sizes) {
      const std::uint64_t address = CALL(allocator->allocate(stream, size.bytes));
      CHECK_EQUAL(address % 256, 0u);
      CHECK(live.emplace(address, size.bytes).second);
      CHECK_ERROR(invalid_argument, allocator->deallocate(stream, address + 128, size.bytes));
    }
    for (const auto& [address, bytes] : live) CALL(allocator->deallocate(stream, address, bytes));
    CHECK_EQUAL(memory_stats(device).at("allocation.all.current"), 0);
  }
}

ANYPLACE_CASE("memory", "memory.kinds", "0 bytes of device memory is a null buffer that frees fine") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 0));
  CHECK(!buffer);
  CHECK_EQUAL(buffer.size_bytes(), 0u);
  const Buffer other = CALL(Buffer(run.device(), 0));
  CHECK(!other);
}

ANYPLACE_CASE("memory", "memory.kinds", "0 bytes of pinned memory is a null buffer that frees fine",
              Capability::pinned_memory) {
  const HostBuffer host = CALL(HostBuffer(run.device(), 0));
  CHECK(!host);
  CHECK_EQUAL(host.size(), 0u);
}

ANYPLACE_CASE("memory", "memory.kinds", "0 bytes of managed memory is a null buffer that frees fine",
              Capability::managed_memory) {
  const Buffer buffer = CALL(Buffer(run.device(), 0, {.kind = MemoryKind::managed}));
  CHECK(!buffer);
}

ANYPLACE_CASES(sizes, "memory", "memory.kinds",
               "{} of pinned memory can be allocated, and copied to the device and back whole",
               Capability::pinned_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const HostBuffer up = CALL(HostBuffer(device, parameter.bytes));
  const HostBuffer down = CALL(HostBuffer(device, parameter.bytes));
  CHECK_EQUAL(up.size(), parameter.bytes);
  const Bytes contents = pattern(parameter.bytes);
  std::memcpy(up.data(), contents.data(), contents.size());
  std::memset(down.data(), 0, down.size());
  const Buffer buffer = CALL(Buffer(stream, parameter.bytes));
  CALL(stream.copy(buffer, {up.data(), up.size()}));
  CALL(stream.copy({down.data(), down.size()}, buffer));
  CALL(stream.synchronize());
  const auto got = down.as<std::uint8_t>();
  CHECK_BYTES(Bytes(got.begin(), got.end()), contents);
}

ANYPLACE_CASE("memory", "memory.kinds", "pinned memory is seen as elements of a type", Capability::pinned_memory) {
  const HostBuffer host = CALL(HostBuffer(run.device(), 1027));
  CHECK_EQUAL(host.as<std::uint32_t>().size(), 256u);
  CHECK_EQUAL(static_cast<void*>(host.as<std::uint32_t>().data()), static_cast<void*>(host.data()));
}

ANYPLACE_CASE("memory", "memory.kinds", "a copy from pinned memory doesn't block the caller", Capability::pinned_memory,
              Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const HostBuffer host = CALL(HostBuffer(device, 1 << 20));
  const Buffer buffer = filled(stream, 1 << 20, 1);
  std::memset(host.data(), 2, host.size());
  gate.hold(stream);
  CALL(stream.copy(buffer, {host.data(), host.size()}));
  CHECK_STAYS_FALSE(stream.query());
  gate.open();
  CALL(stream.synchronize());
  CHECK_BYTES(read(buffer), Bytes(1 << 20, 2));
}

ANYPLACE_CASE("memory", "memory.kinds", "a copy to pinned memory doesn't block the caller and writes nothing early",
              Capability::pinned_memory, Capability::host_functions) {
  const Device device = run.device();
  HostGate gate;
  const Stream stream = CALL(Stream(device));
  const HostBuffer host = CALL(HostBuffer(device, 1 << 16));
  const Buffer buffer = filled(stream, 1 << 16, 1);
  std::memset(host.data(), 0, host.size());
  gate.hold(stream);
  CALL(stream.memset8(buffer, 2));
  CALL(stream.copy({host.data(), host.size()}, buffer));
  CHECK_STAYS_FALSE(stream.query());
  gate.open();
  CALL(stream.synchronize());
  const auto got = host.as<std::uint8_t>();
  CHECK_BYTES(Bytes(got.begin(), got.end()), Bytes(1 << 16, 2));
}

ANYPLACE_CASE("memory", "memory.kinds", "managed memory is one memory to host and device", Capability::managed_memory) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, 100000, {.kind = MemoryKind::managed}));
  auto* const host = static_cast<std::uint8_t*>(CALL(buffer.host_data()));
  CALL(stream.synchronize());
  const Bytes contents = pattern(100000);
  std::memcpy(host, contents.data(), contents.size());
  CHECK_BYTES(read(stream, buffer), contents);
  CALL(stream.memset8(buffer.sub(50000, 100), 0));
  CALL(stream.synchronize());
  for (std::size_t i = 0; i < 100000; ++i) {
    if (host[i] != (i >= 50000 && i < 50100 ? 0 : contents[i])) {
      check_failed(__FILE__, __LINE__, "byte " + std::to_string(i) + " of managed memory is wrong");
    }
  }
}

ANYPLACE_CASE("memory", "memory.kinds", "the host has no pointer to device memory") {
  const Buffer buffer = CALL(Buffer(run.device(), 64));
  CHECK_ERROR(unsupported, buffer.host_data());
}

ANYPLACE_CASE("memory", "memory.kinds", "two devices' buffers are different memory", second_device) {
  const Stream near = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.second()));
  const Buffer near_buffer = filled(near, 65536, 1);
  const Buffer far_buffer = filled(far, 65536, 2);
  CHECK_BYTES(read(near_buffer), Bytes(65536, 1));
  CHECK_BYTES(read(far_buffer), Bytes(65536, 2));
}

ANYPLACE_CASE("memory", "memory.kinds", "a part of a buffer has the address and size that were asked for") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = CALL(Buffer(stream, 1000));
  const BufferView part = CALL(buffer.sub(100, 300));
  CHECK_EQUAL(part.size_bytes(), 300u);
  CHECK_EQUAL(CALL(part.address()), buffer.address() + 100);
  CHECK_EQUAL(CALL(part.sub(50)).size_bytes(), 250u);
  CHECK_EQUAL(CALL(part.sub(50)).address(), buffer.address() + 150);
  CHECK_EQUAL(CALL(buffer.sub(1000)).size_bytes(), 0u);
  CHECK(CALL(buffer.sub(0, 1000)) == buffer.view());
}

// ---- Native and registered

ANYPLACE_CASE("memory", "memory.native", "a buffer's address stays the same, and differs from that of another") {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer first = CALL(Buffer(stream, 4096));
  const Buffer second = CALL(Buffer(stream, 4096));
  CHECK_EQUAL(CALL(first.address()), CALL(first.address()));
  CHECK(CALL(first.address()) != CALL(second.address()));
}

ANYPLACE_CASE("memory", "memory.native", "wrapped memory is the memory itself and stays its owner's") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer owner = filled(stream, 4096, 1);
  {
    const Buffer wrapped = CALL(Buffer::from_native(device, owner.address(), 4096));
    CHECK(!(wrapped == owner));
    CHECK_EQUAL(CALL(wrapped.address()), owner.address());
    CALL(stream.memset8(wrapped, 2));
    CALL(stream.synchronize());
  }
  CHECK_BYTES(read(owner), Bytes(4096, 2));
  CALL(stream.memset8(owner, 3));
  CHECK_BYTES(read(stream, owner), Bytes(4096, 3));
}

ANYPLACE_CASE("memory", "memory.native", "a part of a buffer's memory can be wrapped") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer owner = filled(stream, 4096, 1);
  const Buffer wrapped = CALL(Buffer::from_native(device, owner.address() + 1024, 1024));
  CALL(stream.memset8(wrapped, 2));
  Bytes expected(4096, 1);
  std::fill(expected.begin() + 1024, expected.begin() + 2048, std::uint8_t{2});
  CHECK_BYTES(read(stream, owner), expected);
}

ANYPLACE_CASE("memory", "memory.native", "wrapping address 0 or a range that wraps around is invalid_argument") {
  const Device device = run.device();
  CHECK_ERROR(invalid_argument, Buffer::from_native(device, 0, 16));
  CHECK_ERROR(invalid_argument, Buffer::from_native(device, ~std::uint64_t{0} - 7, 16));
}

ANYPLACE_CASE("memory", "memory.native",
              "registered memory is copied to the device and back whole, and can be registered again",
              Capability::host_register) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  Bytes memory = pattern(300001);
  const Bytes contents = memory;
  const Buffer buffer = CALL(Buffer(stream, memory.size()));
  for (int round = 0; round < 3; ++round) {
    const HostRegistration registration = CALL(HostRegistration(device, memory));
    CALL(stream.copy(buffer, std::as_const(memory)));
    CALL(stream.synchronize());
    std::fill(memory.begin(), memory.end(), std::uint8_t{0});
    CALL(stream.copy(memory, buffer));
    CALL(stream.synchronize());
    CHECK_BYTES(memory, contents);
  }
}

// ---- Pageable

ANYPLACE_CASES(sizes, "memory", "memory.pageable",
               "{} of ordinary host memory are copied to the device and back whole") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(parameter.bytes);
  Bytes back(contents.size(), 0);
  const Buffer buffer = CALL(Buffer(stream, parameter.bytes));
  CALL(stream.copy(buffer, contents));
  CALL(stream.copy(back, buffer));
  CALL(stream.synchronize());
  CHECK_BYTES(back, contents);
}

ANYPLACE_CASE("memory", "memory.pageable", "host memory at any address can be copied") {
  const Stream stream = CALL(Stream(run.device()));
  const Bytes contents = pattern(10000);
  for (std::size_t offset = 0; offset < 9; ++offset) {
    Bytes host(10020, 0);
    std::memcpy(host.data() + offset, contents.data(), contents.size());
    const Buffer buffer = CALL(Buffer(stream, contents.size()));
    CALL(stream.copy(buffer, ConstHostSpan(host.data() + offset, contents.size())));
    CALL(stream.synchronize());
    std::fill(host.begin(), host.end(), std::uint8_t{0});
    CALL(stream.copy(HostSpan(host.data() + 9 - offset, contents.size()), buffer));
    CALL(stream.synchronize());
    CHECK_BYTES(Bytes(host.begin() + static_cast<std::ptrdiff_t>(9 - offset),
                      host.begin() + static_cast<std::ptrdiff_t>(9 - offset + contents.size())),
                contents);
  }
}

ANYPLACE_CASE("memory", "memory.pageable", "containers of any element type can be copied") {
  const Stream stream = CALL(Stream(run.device()));
  const std::vector<double> up{1.5, -2.25, 1e300};
  std::array<double, 3> down{};
  const Buffer buffer = CALL(Buffer(stream, 24));
  CALL(stream.copy(buffer, up));
  CALL(stream.copy(down, buffer));
  CALL(stream.synchronize());
  CHECK(std::equal(up.begin(), up.end(), down.begin()));
}

// ---- Figures

ANYPLACE_CASE("memory", "memory.figures", "free is no more than total, and neither is 0 for unknown") {
  const MemoryInfo info = CALL(run.device().memory_info());
  if (info.total) CHECK(*info.total > 0);
  if (info.free && info.total) CHECK(*info.free <= *info.total);
}

ANYPLACE_CASE("memory", "memory.figures", "the total is no more than the device's memory") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  const auto total = device.properties().total_memory;
  if (!info.total || !total) skip("a total that the vendor can tell");
  CHECK(*info.total <= *total);
}

ANYPLACE_CASE("memory", "memory.figures",
              "a quarter of the memory that is said to be free can be allocated, and used to its ends") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  if (!info.free) skip("a free figure that the vendor can tell");
  const std::uint64_t bytes = *info.free / 4;
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = CALL(Buffer(stream, bytes));
  CALL(stream.memset8(buffer.sub(0, 4096), 1));
  CALL(stream.memset8(buffer.sub(bytes - 4096), 2));
  CHECK_BYTES(read(stream, buffer.sub(0, 4096)), Bytes(4096, 1));
  CHECK_BYTES(read(stream, buffer.sub(bytes - 4096)), Bytes(4096, 2));
}

ANYPLACE_CASE("memory", "memory.figures", "allocated memory isn't said to be free") {
  const Device device = run.device();
  const MemoryInfo before = CALL(device.memory_info());
  if (!before.free || !before.total) skip("figures that the vendor can tell");
  const Stream stream = CALL(Stream(device));
  const std::uint64_t bytes = *before.free / 2;
  const Buffer buffer = CALL(Buffer(stream, bytes));
  CALL(stream.memset8(buffer.sub(0, 4096), 1));
  CALL(stream.synchronize());
  const MemoryInfo after = CALL(device.memory_info());
  CHECK(*after.free <= *after.total - bytes);
}

// ---- Out of memory

/// More than the device has.
std::uint64_t too_much(const Device& device) {
  const auto total = device.properties().total_memory;
  return total ? *total + (1 << 20) : std::uint64_t{1} << 50;
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "more than the device has is out_of_memory with the figures") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const std::uint64_t bytes = too_much(device);
  const Error error = CHECK_ERROR(out_of_memory, Buffer(stream, bytes));
  CHECK(error.memory().has_value());
  CHECK_EQUAL(error.memory()->requested, bytes);
  if (error.memory()->free) CHECK(*error.memory()->free < bytes);
  CHECK_EQUAL(error.place(), run.place());
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "the figures of an out_of_memory say what is in use") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer held = CALL(Buffer(stream, 3 << 20));
  const Error error = CHECK_ERROR(out_of_memory, Buffer(stream, too_much(device)));
  CHECK(error.memory().has_value());
  CHECK(error.memory()->in_use >= 3 << 20);
  CHECK(error.memory()->in_use < 64 << 20);
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "an allocation of the largest 64-bit size is out_of_memory") {
  const Stream stream = CALL(Stream(run.device()));
  CHECK_ERROR(out_of_memory, Buffer(stream, ~std::uint64_t{0}));
  CHECK_ERROR(out_of_memory, Buffer(stream, ~std::uint64_t{0} - 255));
  CHECK_ERROR(out_of_memory, Buffer(stream, std::uint64_t{1} << 63));
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "too much pinned memory is out_of_memory", Capability::pinned_memory) {
  CHECK_ERROR(out_of_memory, HostBuffer(run.device(), std::uint64_t{1} << 62));
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "too much managed memory is out_of_memory",
              Capability::managed_memory) {
  CHECK_ERROR(out_of_memory, Buffer(run.device(), std::uint64_t{1} << 62, {.kind = MemoryKind::managed}));
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "everything works after an out_of_memory") {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer before = filled(stream, 65536, 1);
  CHECK_ERROR(out_of_memory, Buffer(stream, too_much(device)));
  CHECK_BYTES(read(before), Bytes(65536, 1));
  CHECK_BYTES(read(filled(stream, 65536, 2)), Bytes(65536, 2));
}

ANYPLACE_CASE("memory", "memory.out_of_memory", "memory whose free is pending is waited for before an out_of_memory") {
  const Device device = run.device();
  const MemoryInfo info = CALL(device.memory_info());
  if (!info.free) skip("a free figure that the vendor can tell");
  const std::uint64_t bytes = *info.free / 8 * 5;
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  for (int round = 0; round < 8; ++round) {
    // Two such buffers don't fit at a time; the previous one is freed in its stream's order, behind work.
    const Buffer buffer = CALL(Buffer(round % 2 == 0 ? stream : other, bytes));
    CALL((round % 2 == 0 ? stream : other).memset8(buffer.sub(0, 1 << 20), 1));
  }
}

}  // namespace
}  // namespace anyplace::conformance::memory_cases
