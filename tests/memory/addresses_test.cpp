// SPDX-License-Identifier: Apache-2.0
// Whose an address is, where ranges lie within others: buffers in what was allocated for their alignment, wrapped
// memory in wrapped memory. And who may ask meanwhile.
#include <anyplace/address.h>

#include <atomic>
#include <memory>
#include <thread>

#include "memory/memory_support.h"

namespace addresses_test {

using namespace anyplace;
using namespace memory_test;

namespace {

void check_found(std::uint64_t address, std::uint64_t begin, std::uint64_t bytes) {
  const PointerAttributes found = pointer_attributes(address);
  CHECK(to_string(found.kind) == std::string_view("device"));
  CHECK(found.allocation == begin);
  CHECK(found.size_bytes == bytes);
  CHECK(found.offset == address - begin);
}

void check_unknown(std::uint64_t address) {
  CHECK(to_string(pointer_attributes(address).kind) == std::string_view("unknown"));
}

constexpr std::uint64_t aligned_bytes = 5000;
constexpr std::uint64_t alignment = 4096;

/// Buffers that lie differently in their allocations, with memory around them that isn't theirs: no allocation has
/// bytes right in front of one, and for the alignment there are some behind.
void check_aligned_buffers(const Device& device) {
  const Stream stream(device);
  const Bytes contents = pattern(aligned_bytes + 1);
  std::vector<Buffer> shifts;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 8; ++i) {
    shifts.emplace_back(stream, 300);
    buffers.emplace_back(stream, aligned_bytes, BufferOptions{.alignment = alignment});
  }
  for (Buffer& buffer : buffers) {
    const std::uint64_t begin = buffer.address();
    for (const std::uint64_t offset : {std::uint64_t{0}, aligned_bytes / 2, aligned_bytes - 1}) {
      check_found(begin + offset, begin, aligned_bytes);
    }
    check_unknown(begin - 1);
    check_unknown(begin + aligned_bytes);
    stream.copy(Address(begin), Address(contents.data()), aligned_bytes);
    CHECK(download(stream, buffer) == Bytes(contents.begin(), contents.end() - 1));
    refused(ErrorCode::invalid_argument,
            [&] { stream.copy(Address(begin), Address(contents.data()), aligned_bytes + 1); });
    refused(ErrorCode::invalid_argument, [&] { stream.fill(Address(begin + 1), "x", 1, aligned_bytes); });
    buffer = Buffer();
    check_unknown(begin);
    check_unknown(begin + aligned_bytes - 1);
  }
  const Buffer plain(stream, aligned_bytes);
  check_found(plain.address(), plain.address(), aligned_bytes);
}

/// An application's allocator that passes on.
class Passing : public Allocator {
 public:
  explicit Passing(std::shared_ptr<Allocator> upstream) : upstream_(std::move(upstream)) {}
  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    return upstream_->allocate(stream, bytes);
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    upstream_->deallocate(stream, address, bytes);
  }

 private:
  std::shared_ptr<Allocator> upstream_;
};

/// One that hands out a Buffer's memory, from its beginning on.
class Parts : public Allocator {
 public:
  explicit Parts(const Buffer& whole) : next_(whole.address()) {}
  std::uint64_t allocate(const StreamView&, std::uint64_t bytes) override {
    return next_.fetch_add((bytes + 255) / 256 * 256);
  }
  void deallocate(const StreamView&, std::uint64_t, std::uint64_t) override {}

 private:
  std::atomic<std::uint64_t> next_;
};

}  // namespace

// ---- Alignment -----------------------------------------------------------------------------------------------------

TEST_CASE("Given aligned buffers of the cache when addresses are looked up then what lies around them is nobody's") {
  check_aligned_buffers(Device("cpu_sim:0"));
}

TEST_CASE("Given aligned buffers of the backend when addresses are looked up then what lies around them is nobody's") {
  without_cache();
  check_aligned_buffers(Device("cpu_sim:0"));
}

TEST_CASE("Given aligned buffers of an allocator upon the cache when addresses are looked up then the same holds") {
  const Device device("cpu_sim:0");
  set_allocator(device, std::make_shared<Passing>(caching_allocator(device)));
  check_aligned_buffers(device);
}

TEST_CASE("Given an aligned buffer when somebody wraps memory behind it then that is found") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Buffer buffer(stream, aligned_bytes, {.alignment = alignment});
  const std::uint64_t behind = buffer.address() + aligned_bytes;
  const Buffer wrapped = Buffer::from_native(device, behind - 100, 108);
  check_found(behind - 1, buffer.address(), aligned_bytes);
  check_found(behind, behind - 100, 108);
  check_unknown(behind + 8);
  buffer = Buffer();
  check_found(behind - 1, behind - 100, 108);
}

TEST_CASE(
    "Given an allocator of an aligned buffer's parts when those are aligned, too, then addresses are the whole's") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer whole(stream, 1 << 16, {.alignment = 2 * alignment});
  const std::uint64_t begin = whole.address();
  set_allocator(device, std::make_shared<Parts>(whole));
  {
    const Buffer first(stream, 300, {.alignment = alignment});
    const Buffer second(stream, 300, {.alignment = alignment});
    REQUIRE(first.address() == begin);
    REQUIRE(second.address() == begin + 2 * alignment);
    check_found(first.address(), begin, 1 << 16);
    check_found(second.address() + 1, begin, 1 << 16);
    check_found(begin + 300, begin, 1 << 16);
    check_unknown(begin + (1 << 16));
  }
  check_found(begin, begin, 1 << 16);
  check_unknown(begin + (1 << 16));
}

// ---- Wrapped memory ------------------------------------------------------------------------------------------------

TEST_CASE("Given memory that is wrapped whole and in parts when the whole is named then no part's end refuses it") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Bytes memory(4096);  // the simulator's device memory is the host's
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  Buffer whole = Buffer::from_native(device, begin, 4096);
  const Buffer first = Buffer::from_native(device, begin, 100);
  const Buffer middle = Buffer::from_native(device, begin + 1000, 100);
  const Buffer last = Buffer::from_native(device, begin + 2000, 2096);
  const Bytes contents = pattern(4097);
  for (const std::uint64_t offset : {0, 1, 99, 100, 1000, 1099, 1100, 2000, 4095}) {
    check_found(begin + offset, begin, 4096);
    stream.copy(Address(begin + offset), Address(contents.data()), 4096 - offset);
    stream.synchronize();
    CHECK(Bytes(memory.begin() + static_cast<std::ptrdiff_t>(offset), memory.end()) ==
          Bytes(contents.begin(), contents.end() - 1 - static_cast<std::ptrdiff_t>(offset)));
    refused(ErrorCode::invalid_argument,
            [&] { stream.copy(Address(begin + offset), Address(contents.data()), 4097 - offset); });
  }
  whole = Buffer();
  check_found(begin + 50, begin, 100);
  check_found(begin + 1050, begin + 1000, 100);
  check_found(begin + 4095, begin + 2000, 2096);
  check_unknown(begin + 100);
  refused(ErrorCode::invalid_argument, [&] { stream.copy(Address(begin), Address(contents.data()), 101); });
}

TEST_CASE("Given wrapped ranges that overlap when an address in both is looked up then the farther end bounds it") {
  const Device device("cpu_sim:0");
  Bytes memory(4096);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  const Buffer one = Buffer::from_native(device, begin, 3000);
  const Buffer other = Buffer::from_native(device, begin + 1000, 3000);
  check_found(begin + 999, begin, 3000);
  check_found(begin + 1000, begin + 1000, 3000);
  check_found(begin + 3500, begin + 1000, 3000);
  check_unknown(begin + 4000);
}

// ---- From several threads ------------------------------------------------------------------------------------------

TEST_CASE("Given a thread that makes and frees buffers when another looks up their address then it sees one or none") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto bytes_of = [](int round) { return std::uint64_t{5000} + static_cast<std::uint64_t>(round % 100); };
  const std::uint64_t address = Buffer(stream, bytes_of(0)).address();
  std::atomic<bool> over{false};
  std::atomic<int> looked{0};  // relaxed: it orders nothing that a sanitizer would then take for ordered
  std::vector<PointerAttributes> wrong;
  std::thread looker([&] {
    while (!over) {
      const PointerAttributes found = pointer_attributes(address);
      const bool expected =
          found.kind == AddressKind::unknown || (found.kind == AddressKind::device && found.allocation == address &&
                                                 found.size_bytes >= bytes_of(0) && found.size_bytes <= bytes_of(99));
      if (!expected) wrong.push_back(found);
      looked.fetch_add(1, std::memory_order_relaxed);
    }
  });
  int elsewhere = 0;
  for (int round = 0; round < 200; ++round) {
    const Buffer buffer(stream, bytes_of(round));
    if (buffer.address() != address) ++elsewhere;
    // The first look that ends may have begun before.
    const int before = looked.load(std::memory_order_relaxed);
    while (looked.load(std::memory_order_relaxed) < before + 2) std::this_thread::yield();
  }
  over = true;
  looker.join();
  CHECK(wrong.empty());
  CHECK(elsewhere == 0);
}

}  // namespace addresses_test
