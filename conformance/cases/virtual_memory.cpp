// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory, made separately. The core's growing and shrinking allocations use these entries, which the
// public API doesn't have: the cases call the table.
//
// The contract requires nothing of a backend if the core breaks it (memory over other memory, a part of a mapping), so
// there are no cases for that.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <span>

#include "table_device.h"

namespace anyplace::conformance::virtual_memory_cases {
namespace {

struct Granules {
  std::string label;
  std::uint64_t count;
};
const std::vector<Granules> sizes = {{"1 granule", 1}, {"2 granules", 2}, {"5 granules", 5}};

/// A few bytes are written at either end of a place and across its middle, so that a mistake of a granule shows.
constexpr std::uint64_t mark_bytes = 4096;

void mark(TableDevice& device, anyplace_address address, std::uint64_t bytes, std::uint64_t seed, Caller caller = {}) {
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - mark_bytes}) {
    device.write(address + at, pattern(mark_bytes, seed + at), caller);
  }
}

void check_mark(TableDevice& device, anyplace_address address, std::uint64_t bytes, std::uint64_t seed,
                Caller caller = {}) {
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - mark_bytes}) {
    check_bytes(device.read(address + at, mark_bytes, caller), pattern(mark_bytes, seed + at), caller.file, caller.line,
                "what was written to the mapped memory");
  }
}

/// A number of granules that surely fits into the device and doesn't take a test too long.
std::uint64_t half_of_memory(TableDevice& device) {
  const anyplace_memory_info info = device.memory();
  const std::uint64_t free = info.free_bytes == ANYPLACE_UNKNOWN ? std::uint64_t{256} << 20 : info.free_bytes;
  return std::max<std::uint64_t>(1, std::min(free / 2, std::uint64_t{8} << 30) / device.granule());
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "the granularity is a power of two", Capability::virtual_memory) {
  TableDevice device(run);
  CHECK(std::has_single_bit(device.granule()));
}

ANYPLACE_CASES(sizes, "virtual memory", "memory.virtual", "mapped memory of {} holds what is written to it",
               Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = parameter.count * device.granule();
  const anyplace_address range = device.reserve(parameter.count + 2);
  const anyplace_physical memory = device.create(parameter.count);
  device.map(range + device.granule(), memory);
  const Bytes contents = pattern(bytes, parameter.count);
  device.write(range + device.granule(), contents);
  CHECK_BYTES(device.read(range + device.granule(), bytes), contents);
  device.fill(range + device.granule(), 0x3c, bytes);
  CHECK_BYTES(device.read(range + device.granule(), bytes), Bytes(static_cast<std::size_t>(bytes), 0x3c));
  device.unmap(range + device.granule(), parameter.count);
  device.destroy(memory);
  device.release(range, parameter.count + 2);
}

ANYPLACE_CASES(sizes, "virtual memory", "memory.virtual",
               "memory of {} keeps what it holds when it is mapped elsewhere", Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = parameter.count * device.granule();
  const anyplace_address first = device.reserve(2 * parameter.count);
  const anyplace_address second = device.reserve(parameter.count);
  const anyplace_physical memory = device.create(parameter.count);
  device.map(first, memory);
  mark(device, first, bytes, 1);
  for (const anyplace_address next : {first + bytes, second, first}) {
    const anyplace_address before = next == first + bytes ? first : next == second ? first + bytes : second;
    device.unmap(before, parameter.count);
    device.map(next, memory);
    check_mark(device, next, bytes, 1);
  }
  device.unmap(first, parameter.count);
  device.destroy(memory);
  device.release(first, 2 * parameter.count);
  device.release(second, parameter.count);
}

ANYPLACE_CASE("virtual memory", "memory.virtual",
              "other memory can be mapped where memory was unmapped, and has its own contents",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(2);
  const anyplace_physical first = device.create(1), second = device.create(1);
  device.map(range, first);
  mark(device, range, bytes, 1);
  device.unmap(range, 1);
  device.map(range, second);
  mark(device, range, bytes, 2);
  device.map(range + bytes, first);
  check_mark(device, range, bytes, 2);
  check_mark(device, range + bytes, bytes, 1);
  device.unmap(range, 2);
  device.destroy(first);
  device.destroy(second);
  device.release(range, 2);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "memory that is mapped at several addresses is one memory",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(3);
  const anyplace_physical memory = device.create(1);
  device.map(range, memory);
  mark(device, range, bytes, 1);
  device.map(range + 2 * bytes, memory);
  check_mark(device, range + 2 * bytes, bytes, 1);
  mark(device, range + 2 * bytes, bytes, 2);
  check_mark(device, range, bytes, 2);
  device.unmap(range, 1);
  check_mark(device, range + 2 * bytes, bytes, 2);
  device.unmap(range + 2 * bytes, 1);
  device.destroy(memory);
  device.release(range, 3);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "mappings that adjoin are one stretch to copies and fills",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(8);
  std::vector<anyplace_physical> pages;
  for (const std::uint64_t at : {2, 0, 1, 3, 7, 5, 6, 4}) {  // an arbitrary order
    pages.push_back(device.create(1));
    device.map(range + at * bytes, pages.back());
  }
  const Bytes contents = pattern(3 * bytes, 5);
  device.write(range + bytes / 2, contents);
  CHECK_BYTES(device.read(range + bytes / 2, 3 * bytes), contents);
  device.copy(range + 4 * bytes + 256, range + bytes / 2, 3 * bytes);
  CHECK_BYTES(device.read(range + 4 * bytes + 256, 3 * bytes), contents);
  device.fill(range, 0x77, 8 * bytes);
  CHECK_BYTES(device.read(range, 8 * bytes), Bytes(static_cast<std::size_t>(8 * bytes), 0x77));
  device.unmap(range, 8);
  for (const anyplace_physical page : pages) device.destroy(page);
  device.release(range, 8);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "mappings that adjoin are unmapped at once, and others stay",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(6);
  const anyplace_physical before = device.create(1), first = device.create(2), second = device.create(1),
                          behind = device.create(1);
  device.map(range, before);
  device.map(range + bytes, first);
  device.map(range + 3 * bytes, second);
  device.map(range + 4 * bytes, behind);
  mark(device, range, bytes, 1);
  mark(device, range + bytes, 2 * bytes, 2);
  mark(device, range + 3 * bytes, bytes, 3);
  mark(device, range + 4 * bytes, bytes, 4);
  device.unmap(range + bytes, 3);
  check_mark(device, range, bytes, 1);
  check_mark(device, range + 4 * bytes, bytes, 4);
  device.map(range + bytes, second);
  device.map(range + 2 * bytes, first);
  check_mark(device, range + bytes, bytes, 3);
  check_mark(device, range + 2 * bytes, 2 * bytes, 2);
  device.unmap(range, 5);
  for (const anyplace_physical memory : {before, first, second, behind}) device.destroy(memory);
  device.release(range, 6);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "several memories are mapped at once, one behind the other",
              Capability::virtual_memory) {
  TableDevice device(run);
  device.require_map_all();
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(6);
  const anyplace_physical first = device.create(1), second = device.create(2), third = device.create(1);
  device.map(range, first);
  mark(device, range, bytes, 1);
  device.unmap(range, 1);
  device.map_all(range + bytes, {third, first, second});
  check_mark(device, range + 2 * bytes, bytes, 1);
  mark(device, range + bytes, bytes, 3);
  mark(device, range + 3 * bytes, 2 * bytes, 2);
  // They are ordinary mappings, which can be unmapped one by one and together.
  device.unmap(range + 2 * bytes, 1);
  device.map(range, first);
  check_mark(device, range, bytes, 1);
  check_mark(device, range + bytes, bytes, 3);
  check_mark(device, range + 3 * bytes, 2 * bytes, 2);
  device.unmap(range + 3 * bytes, 2);
  device.map_all(range + 2 * bytes, {second, first});
  check_mark(device, range + 2 * bytes, 2 * bytes, 2);
  check_mark(device, range + 4 * bytes, bytes, 1);
  device.unmap(range, 5);
  for (const anyplace_physical memory : {first, second, third}) device.destroy(memory);
  device.release(range, 6);
}

/// Memories of different sizes, each with its own contents.
class Pieces {
 public:
  Pieces(TableDevice& device, const std::vector<std::uint64_t>& granules) : device_(device) {
    anyplace_address at = device.reserve(8);
    for (const std::uint64_t count : granules) {
      pieces_.push_back({device.create(count), count, pieces_.size() + 1});
      device.map(at, pieces_.back().memory);
      mark(device, at, count * device.granule(), pieces_.back().seed);
      device.unmap(at, count);
    }
    device.release(at, 8);
  }
  Pieces(const Pieces&) = delete;  // it destroys them once
  Pieces& operator=(const Pieces&) = delete;

  std::size_t size() const noexcept { return pieces_.size(); }
  std::uint64_t granules_of(std::span<const std::size_t> which) const {
    std::uint64_t sum = 0;
    for (const std::size_t one : which) sum += pieces_[one].granules;
    return sum;
  }
  void map_all(anyplace_address at, std::span<const std::size_t> which, Caller caller = {}) {
    std::vector<anyplace_physical> memories;
    for (const std::size_t one : which) memories.push_back(pieces_[one].memory);
    device_.map_all(at, memories, caller);
  }
  /// Checks that they are mapped one behind the other from `at` on.
  void check(anyplace_address at, std::span<const std::size_t> which, Caller caller = {}) {
    for (const std::size_t one : which) {
      const std::uint64_t bytes = pieces_[one].granules * device_.granule();
      check_mark(device_, at, bytes, pieces_[one].seed, caller);
      at += bytes;
    }
  }
  void destroy(Caller caller = {}) {
    for (const Piece& piece : pieces_) device_.destroy(piece.memory, caller);
  }

 private:
  struct Piece {
    anyplace_physical memory;
    std::uint64_t granules;
    std::uint64_t seed;
  };
  TableDevice& device_;
  std::vector<Piece> pieces_;
};

ANYPLACE_CASE("virtual memory", "memory.virtual",
              "memories of different sizes are mapped at once in any order, and any of them are unmapped at once",
              Capability::virtual_memory) {
  TableDevice device(run);
  device.require_map_all();
  Pieces pieces(device, {1, 3, 2, 1, 5, 2});
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint64_t granules = pieces.granules_of(order);
  const anyplace_address range = device.reserve(granules + 2);
  const auto address_of = [&](std::size_t place) {
    return range + (1 + pieces.granules_of(std::span(order).first(place))) * device.granule();
  };
  for (int round = 0; round < 6; ++round) {
    std::shuffle(order.begin(), order.end(), run.random());
    if (round == 0) order = {1, 0, 4, 3, 2, 5};  // neither the first nor the last is like the others
    pieces.map_all(address_of(0), order);
    pieces.check(address_of(0), order);
    // Some of them, anywhere, are unmapped and mapped again in another order.
    const std::size_t first = run.random()() % order.size();
    const std::size_t count = 1 + run.random()() % (order.size() - first);
    const std::span<std::size_t> some = std::span(order).subspan(first, count);
    device.unmap(address_of(first), pieces.granules_of(some));
    pieces.check(address_of(0), std::span(order).first(first));
    pieces.check(address_of(first + count), std::span(order).subspan(first + count));
    std::reverse(some.begin(), some.end());
    pieces.map_all(address_of(first), some);
    pieces.check(address_of(0), order);
    // What several calls mapped is unmapped across their boundaries.
    const std::size_t middle = run.random()() % order.size();
    device.unmap(address_of(middle), pieces.granules_of(std::span(order).subspan(middle)));
    pieces.check(address_of(0), std::span(order).first(middle));
    if (middle > 0) device.unmap(address_of(0), pieces.granules_of(std::span(order).first(middle)));
  }
  pieces.destroy();
  device.release(range, granules + 2);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "one memory that is mapped several times at once is one memory",
              Capability::virtual_memory) {
  TableDevice device(run);
  device.require_map_all();
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(7);
  const anyplace_physical first = device.create(1), second = device.create(2);
  const std::vector<anyplace_physical> memories = {first, second, first, second};
  const TableBackend& backend = device.backend();
  const anyplace_status status = ENTRY(backend, virtual_map_all, backend.device(), range, memories.data(), 4);
  if (status == ANYPLACE_STATUS_UNSUPPORTED) skip("memory that can be mapped at several addresses");
  TableBackend::require(status, "virtual_map_all", {__FILE__, __LINE__});
  mark(device, range, bytes, 1);
  mark(device, range + bytes, 2 * bytes, 2);
  check_mark(device, range + 3 * bytes, bytes, 1);
  check_mark(device, range + 4 * bytes, 2 * bytes, 2);
  device.unmap(range, 3);
  check_mark(device, range + 3 * bytes, bytes, 1);
  check_mark(device, range + 4 * bytes, 2 * bytes, 2);
  device.unmap(range + 3 * bytes, 3);
  device.destroy(first);
  device.destroy(second);
  device.release(range, 7);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "hundreds of memories are mapped at once, and each is in its place",
              Capability::virtual_memory) {
  TableDevice device(run);
  device.require_map_all();
  const std::uint64_t count = std::min<std::uint64_t>(300, half_of_memory(device));
  const anyplace_address range = device.reserve(count);
  std::vector<anyplace_physical> memories;
  for (std::uint64_t i = 0; i < count; ++i) memories.push_back(device.create(1));
  device.map_all(range, memories);
  const auto value = [](std::uint64_t i) { return static_cast<std::uint8_t>(i % 251 + 1); };
  for (std::uint64_t i = 0; i < count; ++i) device.fill(range + i * device.granule(), value(i), 64);
  device.unmap(range, count);
  std::reverse(memories.begin(), memories.end());
  device.map_all(range, memories);
  for (std::uint64_t i = 0; i < count; ++i) {
    CHECK_BYTES(device.read(range + i * device.granule(), 64), Bytes(64, value(count - 1 - i)));
  }
  device.unmap(range, count);
  for (const anyplace_physical memory : memories) device.destroy(memory);
  device.release(range, count);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "memory that is destroyed while it is mapped stays until it isn't",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(3);
  const anyplace_physical memory = device.create(1);
  device.map(range, memory);
  device.map(range + bytes, memory);
  mark(device, range, bytes, 1);
  device.destroy(memory);
  check_mark(device, range, bytes, 1);
  device.unmap(range, 1);
  // New memory isn't what is still mapped.
  const anyplace_physical other = device.create(1);
  device.map(range + 2 * bytes, other);
  mark(device, range + 2 * bytes, bytes, 2);
  check_mark(device, range + bytes, bytes, 1);
  device.unmap(range + bytes, 2);
  device.destroy(other);
  device.release(range, 3);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "more memory than the device has is OUT_OF_MEMORY, and costs nothing",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t total = device.total_memory();
  const std::uint64_t too_much =
      total == ANYPLACE_UNKNOWN ? std::uint64_t{1} << 50 : (total / device.granule() + 1) * device.granule();
  const anyplace_status out_of_memory = ANYPLACE_STATUS_OUT_OF_MEMORY;
  for (int i = 0; i < 3; ++i) {
    anyplace_physical none = 0;
    CHECK_EQUAL(device.try_create(too_much, &none), out_of_memory);
    CHECK_EQUAL(none, anyplace_physical{0});
    device.destroy(device.create(1));
  }
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "more addresses than there are is OUT_OF_MEMORY",
              Capability::virtual_memory) {
  TableDevice device(run);
  anyplace_address none = 0;
  const anyplace_status out_of_memory = ANYPLACE_STATUS_OUT_OF_MEMORY;
  CHECK_EQUAL(device.try_reserve(std::uint64_t{1} << 62, &none), out_of_memory);
  CHECK_EQUAL(none, anyplace_address{0});
  device.release(device.reserve(1), 1);
}

ANYPLACE_CASE("virtual memory", "memory.virtual",
              "memory that is destroyed can be allocated again, mapped before or not", Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t granules = half_of_memory(device);
  const anyplace_address range = device.reserve(granules);
  for (int i = 0; i < 6; ++i) {
    const anyplace_physical memory = device.create(granules);
    if (i % 2 == 0) {
      device.map(range, memory);
      device.fill(range + (granules - 1) * device.granule(), 1, mark_bytes);
    }
    if (i % 4 == 0) device.destroy(memory);
    if (i % 2 == 0) device.unmap(range, granules);
    if (i % 4 != 0) device.destroy(memory);
  }
  device.release(range, granules);
}

ANYPLACE_CASE("virtual memory", "memory.virtual",
              "addresses that are released can be reserved again, and cost no memory", Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t granules = (std::uint64_t{16} << 30) / device.granule();
  for (int i = 0; i < 200; ++i) device.release(device.reserve(granules), granules);
  const anyplace_address first = device.reserve(granules), second = device.reserve(granules);
  const std::uint64_t bytes = granules * device.granule();
  CHECK(first + bytes <= second || second + bytes <= first);
  // Reserved addresses have no memory: the device still has its own.
  device.destroy(device.create(half_of_memory(device)));
  device.release(first, granules);
  device.release(second, granules);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "memory isn't said to be free from the moment it is made",
              Capability::virtual_memory) {
  TableDevice device(run);
  const anyplace_physical one = device.create(1);  // some backends tell their figures only when they are in use
  const anyplace_memory_info before = device.memory();
  if (before.free_bytes == ANYPLACE_UNKNOWN || before.total_bytes == ANYPLACE_UNKNOWN) {
    skip("figures that the vendor can tell");
  }
  const std::uint64_t granules = half_of_memory(device);
  const anyplace_physical memory = device.create(granules);
  CHECK(device.memory().free_bytes <= before.total_bytes - granules * device.granule());
  device.destroy(memory);
  device.destroy(one);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "a second device with access reads what is mapped before and after",
              Capability::virtual_memory, Capability::peer_access, second_device) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  const anyplace_address range = device.reserve(2);
  const anyplace_physical first = device.create(1), second = device.create(1);
  device.map(range, first);
  device.enable_second();
  device.map(range + bytes, second);
  device.fill(range, 7, 2 * bytes);
  CHECK_BYTES(device.read_from_second(range + bytes / 2, bytes), Bytes(static_cast<std::size_t>(bytes), 7));
  device.unmap(range, 2);
  device.destroy(first);
  device.destroy(second);
  device.release(range, 2);
}

ANYPLACE_CASE("virtual memory", "memory.virtual", "8 threads map and move memory of their own at the same time",
              Capability::virtual_memory) {
  TableDevice device(run);
  run_threads(8, [&](int thread) {
    const auto seed = static_cast<std::uint64_t>(thread);
    const std::uint64_t bytes = device.granule();
    const anyplace_address range = device.reserve(4);
    const anyplace_physical memory = device.create(1);
    for (std::uint64_t i = 0; i < 8; ++i) {
      const anyplace_address at = range + i % 4 * bytes;
      device.map(at, memory);
      if (i != 0) check_mark(device, at, bytes, seed);
      mark(device, at, bytes, seed);
      device.unmap(at, 1);
    }
    device.destroy(memory);
    device.release(range, 4);
  });
}

/// Moves pages within a range at random, and compares with the expected contents.
ANYPLACE_CASE("virtual memory", "memory.virtual", "pages that move at random hold what they held",
              Capability::virtual_memory) {
  TableDevice device(run);
  const std::uint64_t bytes = device.granule();
  constexpr std::uint64_t places = 12;
  const anyplace_address range = device.reserve(places);
  std::map<std::uint64_t, std::size_t> mapped;  // place -> page
  std::vector<anyplace_physical> pages;
  std::vector<std::uint64_t> seeds;
  const auto is_mapped = [&](std::size_t page) {
    return std::any_of(mapped.begin(), mapped.end(), [&](const auto& one) { return one.second == page; });
  };
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint64_t place = run.random()() % places;
    if (const auto there = mapped.find(place); there != mapped.end()) {
      if (seeds[there->second] != 0) check_mark(device, range + place * bytes, bytes, seeds[there->second]);
      seeds[there->second] = 1000 * i + 1;
      mark(device, range + place * bytes, bytes, seeds[there->second]);
      if (i % 2 == 0) continue;
      device.unmap(range + place * bytes, 1);
      mapped.erase(there);
      continue;
    }
    std::size_t page = run.random()() % (places / 2);
    while (page < pages.size() && is_mapped(page)) ++page;
    if (page >= pages.size()) {
      page = pages.size();
      pages.push_back(device.create(1));
      seeds.push_back(0);
    }
    device.map(range + place * bytes, pages[page]);
    mapped[place] = page;
  }
  for (const auto& [place, page] : mapped) {
    if (seeds[page] != 0) check_mark(device, range + place * bytes, bytes, seeds[page]);
    device.unmap(range + place * bytes, 1);
  }
  for (const anyplace_physical page : pages) device.destroy(page);
  device.release(range, places);
}

}  // namespace
}  // namespace anyplace::conformance::virtual_memory_cases
