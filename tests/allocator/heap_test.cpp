// SPDX-License-Identifier: Apache-2.0
// The heap over a source that knows what it gave out: placement, pages that serve in two places, limits, faults.
#include "memory/allocator/heap.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "fake_source.h"

namespace heap_test {

using anyplace::detail::Arena;
using anyplace::detail::ArenaKey;
using anyplace::detail::Block;
using anyplace::detail::Heap;
using anyplace::detail::HeapOptions;
using anyplace::detail::HeapUser;
using anyplace::detail::Reach;
using anyplace::detail::SnapshotSegment;
using anyplace::detail::SourceResult;
using anyplace::detail::StatKind;
using anyplace::detail::StatPool;
using anyplace::detail::StatTable;
using anyplace::detail::TraceAction;
using anyplace::test::FakeSource;

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;

class User : public HeapUser {
 public:
  bool all_idle = true;
  bool idle(const ArenaKey& /*arena*/) noexcept override { return all_idle; }
  void note(TraceAction /*action*/, const ArenaKey& /*arena*/, std::uint64_t /*address*/,
            std::uint64_t /*bytes*/) noexcept override {}
};

/// A heap with all that it needs.
struct Bench {
  explicit Bench(HeapOptions options = {}) : heap(std::make_unique<Heap>(source, user, stats, options)) {}
  ~Bench() {
    heap.reset();
    CHECK(source.empty());
    CHECK(source.broken.empty());
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Arena& arena(std::uint64_t stream = 1, std::uint64_t pool = 0, bool small = false) const {
    return heap->arena({stream, pool, small});
  }
  /// As an allocator does: what is cached, more, all.
  Block* take(Arena& from, std::uint64_t bytes) const {
    Block* block = heap->take(from, bytes, Reach::cached);
    if (block == nullptr) block = heap->take(from, bytes, Reach::grow);
    if (block == nullptr) block = heap->take(from, bytes, Reach::scavenge);
    return block;
  }
  Block* take_mebibytes(std::uint64_t count, std::uint64_t stream = 1) const {
    return take(arena(stream), count * mebibyte);
  }

  FakeSource source;
  User user;
  StatTable stats;
  std::unique_ptr<Heap> heap;
};

HeapOptions classic() {
  HeapOptions options;
  options.virtual_memory = false;
  return options;
}

HeapOptions limited(std::uint64_t mebibytes) {
  HeapOptions options;
  options.limit = mebibytes * mebibyte;
  return options;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31U);
  }
  std::uint64_t below(std::uint64_t end) { return (*this)() % end; }
  /// As many of each power of two.
  std::uint64_t size(double least, double most) {
    const double part = static_cast<double>((*this)() >> 11U) / 9007199254740992.0;
    return static_cast<std::uint64_t>(least * std::pow(most / least, part));
  }

 private:
  std::uint64_t state_;
};

/// A step of training, more or less: layers leave activations behind and use memory for a moment, then all goes in
/// reverse.
void training_step(const Bench& bench, std::uint64_t* live, std::uint64_t* most) {
  const auto take = [&](std::uint64_t bytes) {
    Block* block = bench.take(bench.arena(1, 0, bytes <= 32 * 1024), bytes);
    REQUIRE(block != nullptr);
    block->requested = bytes;
    *live += bytes;
    *most = std::max(*most, *live);
    return block;
  };
  const auto give = [&](Block* block) {
    *live -= block->requested;
    bench.heap->give(block);
  };
  std::vector<Block*> kept;
  for (std::uint64_t layer = 0; layer < 24; ++layer) {
    Block* moment = take((160 + layer % 3 * 4) * mebibyte + 80000);
    for (const std::uint64_t kilobytes : {16384, 65536, 12, 36000, 132000}) kept.push_back(take(kilobytes * 1024));
    Block* other = take(68 * mebibyte);
    give(moment);
    kept.push_back(take(96 * mebibyte));
    give(other);
  }
  while (!kept.empty()) {
    Block* moment = take(80 * mebibyte);
    give(kept.back());
    kept.pop_back();
    give(moment);
  }
}

}  // namespace

TEST_CASE("Heap: a request takes the tightest hole") {
  Bench bench;
  Block* wide = bench.take_mebibytes(12);
  Block* first = bench.take_mebibytes(2);
  Block* tight = bench.take_mebibytes(6);
  Block* second = bench.take_mebibytes(2);
  const auto address = tight->address;
  bench.heap->give(wide);
  bench.heap->give(tight);
  const auto calls = bench.source.calls;
  Block* again = bench.heap->take(bench.arena(), 5 * mebibyte, Reach::cached);
  REQUIRE(again != nullptr);
  CHECK(again->address == address);
  CHECK(bench.source.calls == calls);
  for (Block* block : {again, first, second}) bench.heap->give(block);
  bench.heap->check();
}

TEST_CASE("Heap: blocks come in units, at their multiples; what no size is gets nothing") {
  Bench bench;
  Block* block = bench.take(bench.arena(1, 0, true), 1);
  CHECK(block->bytes == 512);
  CHECK(block->address % 512 == 0);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 63U, UINT64_MAX}) {
    CHECK(bench.take(bench.arena(), bytes) == nullptr);
    CHECK(bench.heap->last_result() == SourceResult::out_of_memory);
  }
}

TEST_CASE("Heap: a block is found where it begins, and while it is handed out") {
  Bench bench;
  Arena& small = bench.arena(1, 0, true);
  std::vector<Block*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(bench.take(small, 1536));
  blocks.push_back(bench.take_mebibytes(40));
  for (Block* block : blocks) {
    CHECK(bench.heap->find(block->address) == block);
    CHECK(bench.heap->find(block->address + 512) == nullptr);
    CHECK(bench.heap->find(block->address + 1) == nullptr);
    CHECK(bench.heap->find(block->address + 256) == nullptr);
    CHECK(bench.heap->find_around(block->address + 700) == block);
  }
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{4096}, UINT64_MAX, UINT64_MAX - 511}) {
    CHECK(bench.heap->find(address) == nullptr);
    CHECK(bench.heap->find_around(address) == nullptr);
  }
  for (Block* block : blocks) {
    const auto address = block->address;
    bench.heap->give(block);
    CHECK(bench.heap->find(address) == nullptr);
  }
  bench.heap->check();
}

TEST_CASE("Heap: segments may begin at any address; blocks are found all the same (classic segments)") {
  Bench bench(classic());
  const std::uint64_t begins = GENERATE(256, 128, 64, 1, 511, 512);
  bench.source.next += begins;
  bench.source.gap = 20 * mebibyte;  // so that one segment begins where the other one ended, or nearly
  Arena& small = bench.arena(1, 0, true);
  std::vector<Block*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(bench.take(small, 1 + i % 4 * 512));
  for (int i = 0; i < 40; ++i) blocks.push_back(bench.take_mebibytes(5));
  for (Block* block : blocks) {
    CHECK(block->address % 512 == begins % 512);
    CHECK(bench.heap->find(block->address) == block);
    for (const std::uint64_t inside : {1, 128, 256, 511}) {
      CHECK(bench.heap->find(block->address + inside) == nullptr);
      CHECK(bench.heap->find_around(block->address + inside) == block);
    }
  }
  bench.heap->check();
  for (Block* block : blocks) {
    const auto address = block->address;
    bench.heap->give(block);
    CHECK(bench.heap->find(address) == nullptr);
  }
  bench.heap->check();
}

TEST_CASE("Heap: at the limit, free pages in pieces serve one request, and nothing is unmapped") {
  Bench bench(limited(64));
  bench.user.all_idle = false;
  std::vector<Block*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(bench.take_mebibytes(4));
  CHECK(bench.take_mebibytes(2) == nullptr);
  CHECK(bench.heap->last_result() == SourceResult::out_of_memory);
  for (std::size_t i = 0; i < blocks.size(); i += 2) bench.heap->give(blocks[i]);
  Block* whole = bench.take_mebibytes(32);
  REQUIRE(whole != nullptr);
  CHECK(bench.source.backed(whole->address, whole->bytes));
  CHECK(bench.source.used == 64 * mebibyte);
  CHECK(bench.stats.num_device_free == 0);
  bench.heap->check();

  SECTION("and come back to where they were without a call of the source") {
    bench.heap->give(whole);
    const auto calls = bench.source.calls;
    for (int i = 0; i < 8; ++i) {
      Block* block = bench.heap->take(bench.arena(), 4 * mebibyte, Reach::cached);
      REQUIRE(block != nullptr);
      CHECK(bench.source.backed(block->address, block->bytes));
    }
    CHECK(bench.source.calls == calls);
    CHECK(bench.heap->take(bench.arena(), 4 * mebibyte, Reach::cached) == nullptr);
    bench.heap->check();
  }
  SECTION("and go back to the source when asked to, from wherever they are mapped") {
    bench.heap->give(whole);
    CHECK(bench.heap->release_free() == 0);
    bench.user.all_idle = true;
    CHECK(bench.heap->release_free() == 32 * mebibyte);
    CHECK(bench.source.used == 32 * mebibyte);
    bench.heap->check();
  }
}

TEST_CASE("Heap: another stream's free pages move when that stream is idle, and only then") {
  Bench bench(limited(64));
  bench.heap->give(bench.take_mebibytes(64, 1));
  bench.user.all_idle = false;
  CHECK(bench.take_mebibytes(32, 2) == nullptr);
  bench.user.all_idle = true;
  Block* block = bench.take_mebibytes(32, 2);
  REQUIRE(block != nullptr);
  CHECK(bench.source.backed(block->address, block->bytes));
  CHECK(bench.heap->reserved_bytes() == 64 * mebibyte);
  bench.heap->check();
}

TEST_CASE("Heap: a pool's limit holds for it alone, and its own free pages serve it") {
  Bench bench;
  bench.heap->set_pool_limit(7, 16 * mebibyte);
  Arena& arena = bench.arena(1, 7);
  Block* first = bench.take(arena, 6 * mebibyte);
  Block* second = bench.take(arena, 2 * mebibyte);
  Block* third = bench.take(arena, 6 * mebibyte);
  CHECK(bench.take(arena, 4 * mebibyte) == nullptr);
  CHECK(bench.take_mebibytes(64) != nullptr);
  bench.heap->give(first);
  bench.heap->give(third);
  Block* large = bench.take(arena, 12 * mebibyte);
  REQUIRE(large != nullptr);
  CHECK(bench.heap->reserved_bytes(7) <= 16 * mebibyte);
  bench.heap->check();
  bench.heap->give(large);
  bench.heap->give(second);
  CHECK(bench.heap->release_free(7) > 0);
  CHECK(bench.heap->reserved_bytes(7) == 0);
  CHECK(bench.heap->reserved_bytes() == 64 * mebibyte);
  bench.heap->check();
}

TEST_CASE("Heap: what a stream left behind serves the next stream without a call of the source") {
  const auto options = GENERATE(HeapOptions{}, classic());
  Bench bench(options);
  Block* block = bench.take_mebibytes(40, 1);
  bench.heap->orphan(1);
  bench.heap->give(block);
  const auto calls = bench.source.calls;
  REQUIRE(bench.heap->take(bench.arena(2), 40 * mebibyte, Reach::cached) != nullptr);
  CHECK(bench.source.calls == calls);
  bench.heap->check();
}

TEST_CASE("Heap: memory that somebody else took is made up for by what is free") {
  Bench bench;
  bench.source.limit = 64 * mebibyte;
  std::vector<Block*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(bench.take_mebibytes(4, 1 + i % 2));
  CHECK(bench.take_mebibytes(2) == nullptr);
  CHECK(bench.heap->last_result() == SourceResult::out_of_memory);
  for (std::size_t i = 0; i < blocks.size(); i += 2) bench.heap->give(blocks[i]);
  CHECK(bench.take_mebibytes(32, 2) != nullptr);
  bench.heap->check();
}

TEST_CASE("Heap: a program that only grows calls the source for few of its requests") {
  Bench bench;
  constexpr int count = 4096;
  for (int i = 0; i < count; ++i) REQUIRE(bench.take_mebibytes(2) != nullptr);
  CHECK(bench.stats.num_device_alloc < count / 4);
  CHECK(bench.heap->reserved_bytes() <= (count + count / 100) * 2 * mebibyte);
  bench.heap->check();
}

TEST_CASE("Heap: a source that has too little to map ahead serves what is needed, without the last resort") {
  Bench bench;
  std::vector<Block*> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(bench.take_mebibytes(64));
  const std::uint64_t left = GENERATE(0, 2, 4);
  while (bench.heap->take(bench.arena(), 2 * mebibyte, Reach::cached) != nullptr) {
  }
  bench.source.limit = bench.source.used + (2 + left) * mebibyte;
  CHECK(bench.heap->take(bench.arena(), 2 * mebibyte, Reach::grow) != nullptr);
  CHECK(bench.heap->reserved_bytes() == bench.source.used);
  bench.source.limit = bench.source.used;
  while (bench.heap->take(bench.arena(), 2 * mebibyte, Reach::cached) != nullptr) {
  }
  CHECK(bench.heap->take(bench.arena(), 2 * mebibyte, Reach::grow) == nullptr);
  CHECK(bench.heap->last_result() == SourceResult::out_of_memory);
  bench.heap->check();
}

TEST_CASE("Heap: blocks above the largest that may be split stay whole (classic segments)") {
  HeapOptions options = classic();
  options.max_split_bytes = 32 * mebibyte;
  Bench bench(options);
  Block* large = bench.take_mebibytes(64);
  CHECK(bench.stats.oversize_segments.current == 1);
  CHECK(bench.stats.oversize_allocations.current == 1);
  bench.heap->give(large);
  CHECK(bench.stats.oversize_allocations.current == 0);
  CHECK(bench.heap->take(bench.arena(), 4 * mebibyte, Reach::cached) == nullptr);
  CHECK(bench.heap->take(bench.arena(), 60 * mebibyte, Reach::cached) == large);
  bench.heap->check();
}

TEST_CASE("Heap: segments that are free as a whole make room for others (classic segments)") {
  HeapOptions options = classic();
  options.limit = 100 * mebibyte;
  Bench bench(options);
  bench.heap->give(bench.take_mebibytes(60));
  CHECK(bench.take_mebibytes(80) != nullptr);
  CHECK(bench.source.used == 80 * mebibyte);
  bench.heap->check();
}

TEST_CASE("Heap: a step that repeats wastes little, and takes no call of the source from the third time on") {
  Bench bench;
  bench.user.all_idle = GENERATE(false, true);
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  training_step(bench, &live, &most);
  const auto reserved = bench.stats.at(StatKind::reserved_bytes, StatPool::all).peak;
  CHECK(static_cast<double>(reserved) <= 1.015 * static_cast<double>(most));
  CHECK(bench.stats.num_device_free <= 1);  // what was mapped ahead may be what moves first
  training_step(bench, &live, &most);
  const auto calls = bench.source.calls;
  for (int step = 3; step <= 5; ++step) training_step(bench, &live, &most);
  CHECK(bench.source.calls == calls);
  bench.heap->check();
}

TEST_CASE("Heap: random sizes on eight streams waste a tenth at most, and fit up to nine tenths of the device") {
  Bench bench;
  const std::uint64_t capacity = 8192 * mebibyte;
  bench.source.limit = capacity;
  bench.heap->set_limit(capacity);
  Random random(11);
  std::vector<Block*> live;
  std::uint64_t bytes = 0;
  std::uint64_t most = 0;
  std::uint64_t fill = capacity / 10 * 8;
  for (int i = 0; i < 24'000; ++i) {
    if (i == 20'000) {
      const auto reserved = bench.stats.at(StatKind::reserved_bytes, StatPool::all).peak;
      CHECK(static_cast<double>(reserved) <= 1.10 * static_cast<double>(most));
      fill = capacity / 10 * 9;
    }
    const std::uint64_t size = random.size(512, 64.0 * mebibyte);
    if (bytes + size <= fill) {
      Block* block = bench.take(bench.arena(1 + random.below(8), 0, size <= 32 * 1024), size);
      REQUIRE(block != nullptr);
      live.push_back(block);
      bytes += block->bytes;
      most = std::max(most, bytes);
    } else {
      const std::size_t at = random.below(live.size());
      bytes -= live[at]->bytes;
      bench.heap->give(live[at]);
      live[at] = live.back();
      live.pop_back();
    }
  }
  bench.heap->check();
}

namespace {

/// Random operations against a map of what is handed out.
void random_operations(const Bench& bench, FakeSource& source, User& user, int operations, std::uint64_t seed) {
  Random random(seed);
  std::map<std::uint64_t, Block*> live;
  for (int i = 0; i < operations; ++i) {
    if (random.below(2) == 0 || live.empty()) {
      const std::uint64_t size = random.size(1, 24.0 * mebibyte);
      Arena& arena = bench.arena(1 + random.below(4), random.below(5) == 0 ? 3 : 0, size <= 32 * 1024);
      Block* block = bench.take(arena, size);
      if (block == nullptr) continue;
      REQUIRE(block->bytes >= size);
      REQUIRE(source.backed(block->address, block->bytes));
      const auto after = live.lower_bound(block->address);
      REQUIRE((after == live.end() || block->address + block->bytes <= after->first));
      REQUIRE((after == live.begin() ||
               std::prev(after)->second->address + std::prev(after)->second->bytes <= block->address));
      live.emplace(block->address, block);
    } else {
      auto at = live.lower_bound(std::next(live.begin(), static_cast<int>(random.below(live.size())))->first);
      bench.heap->give(at->second);
      live.erase(at);
    }
    if (random.below(500) == 0) bench.heap->release_free();
    if (random.below(700) == 0) bench.heap->orphan(1 + random.below(4));
    if (random.below(50) == 0) user.all_idle = !user.all_idle;
    if (i % 2000 == 0) bench.heap->check();
  }
  bench.heap->check();
  for (const auto& [address, block] : live) bench.heap->give(block);
  bench.heap->check();
}

}  // namespace

TEST_CASE("Heap: random operations keep every invariant") {
  const bool virtual_memory = GENERATE(true, false);
  HeapOptions options = virtual_memory ? limited(512) : classic();
  options.limit = 512 * mebibyte;
  options.address_space = virtual_memory ? 256 * mebibyte : 0;
  Bench bench(options);
  random_operations(bench, bench.source, bench.user, 50'000, virtual_memory ? 1 : 2);
}

TEST_CASE("Heap: whichever call of the source fails, everything stays consistent") {
  const bool virtual_memory = GENERATE(true, false);
  HeapOptions options = virtual_memory ? HeapOptions{} : classic();
  options.limit = 48 * mebibyte;
  options.address_space = 32 * mebibyte;
  std::uint64_t calls = 1;
  for (std::uint64_t nth = 1; nth <= calls && nth < 400; ++nth) {
    FakeSource source;
    User user;
    StatTable stats;
    {
      Heap heap(source, user, stats, options);
      source.fail_call = nth;
      std::vector<Block*> live;
      Random random(5);
      for (int i = 0; i < 60; ++i) {
        Arena& arena = heap.arena({1 + random.below(2), 0, false});
        const std::uint64_t bytes = random.size(1.0 * mebibyte, 12.0 * mebibyte);
        user.all_idle = random.below(4) != 0;
        Block* block = heap.take(arena, bytes, Reach::grow);
        if (block == nullptr) block = heap.take(arena, bytes, Reach::scavenge);
        if (block != nullptr) {
          REQUIRE(source.backed(block->address, block->bytes));
          live.push_back(block);
        }
        while (!live.empty() && (block == nullptr || random.below(3) == 0)) {
          const std::size_t at = random.below(live.size());
          heap.give(live[at]);
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
          if (random.below(2) == 0) break;
        }
        if (i % 20 == 19) heap.release_free();
        REQUIRE_NOTHROW(heap.check());
        REQUIRE(heap.reserved_bytes() == source.used);
      }
      calls = source.calls;
      source.fail_call = 0;
    }
    INFO("call " << nth);
    REQUIRE(source.broken.empty());
    REQUIRE(source.empty());
  }
}

TEST_CASE("Heap: where an unmap failed neither the memory nor the addresses are used again") {
  Bench bench;
  bench.heap->give(bench.take_mebibytes(10));
  bench.source.fail_call = bench.source.calls + 1;
  CHECK(bench.heap->release_free() == 0);
  REQUIRE_NOTHROW(bench.heap->check());
  CHECK(bench.heap->reserved_bytes() == bench.source.used);
  // As much again, from other addresses of the same range: it needn't be reserved once more.
  const std::uint64_t addresses = bench.source.addresses_used;
  for (int round = 0; round < 2; ++round) {
    Block* const block = bench.take_mebibytes(10);
    REQUIRE(block != nullptr);
    CHECK(bench.source.backed(block->address, block->bytes));
    bench.heap->give(block);
    CHECK(bench.heap->release_free() == 10 * mebibyte);
    REQUIRE_NOTHROW(bench.heap->check());
  }
  CHECK(bench.source.addresses_used == addresses);
  CHECK(bench.source.used == 0);
}

TEST_CASE("Heap: a snapshot's blocks tile its segments") {
  const auto options = GENERATE(limited(64), classic());
  Bench bench(options);
  std::vector<Block*> blocks;
  for (std::uint64_t i = 1; i <= 8; ++i) blocks.push_back(bench.take_mebibytes(i));
  for (std::size_t i = 0; i < blocks.size(); i += 2) bench.heap->give(blocks[i]);
  bench.heap->release_free();
  std::vector<SnapshotSegment> segments;
  bench.heap->describe(segments);
  std::uint64_t bytes = 0;
  for (const SnapshotSegment& segment : segments) {
    std::uint64_t at = segment.address;
    for (const auto& block : segment.blocks) {
      CHECK(block.address == at);
      at += block.bytes;
    }
    CHECK(at == segment.address + segment.total_bytes);
    bytes += segment.total_bytes;
  }
  CHECK(bytes == bench.heap->reserved_bytes());
}

}  // namespace heap_test
