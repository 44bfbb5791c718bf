// SPDX-License-Identifier: Apache-2.0
//
// Whose memory it is: what a stream's work may still use is that stream's alone, whatever becomes of the stream's
// pools. Streams are busy from a free on until they are said to be idle; pools and streams come and go.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "fake_source.h"
#include "memory/allocator/heap.h"

namespace heap_order_test {

using anyplace::detail::Arena;
using anyplace::detail::ArenaKey;
using anyplace::detail::Block;
using anyplace::detail::Heap;
using anyplace::detail::HeapOptions;
using anyplace::detail::HeapUser;
using anyplace::detail::Reach;
using anyplace::detail::StatTable;
using anyplace::detail::TraceAction;
using anyplace::test::FakeSource;

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr std::uint64_t page = 2 * mebibyte;

/// What work may still use, in pages: of memory, and of addresses.
class Oracle final : public HeapUser {
 public:
  explicit Oracle(FakeSource& source) : source_(source) {
    source_.on_loss = [this](std::uint64_t address, std::uint64_t bytes) { lose(address, bytes); };
  }

  bool idle(const ArenaKey& arena) noexcept override { return busy_.count(arena.stream) == 0; }
  void note(TraceAction /*action*/, const ArenaKey& /*arena*/, std::uint64_t /*address*/,
            std::uint64_t /*bytes*/) noexcept override {}

  /// The block goes to `stream`.
  void taken(const Block& block, std::uint64_t stream) {
    if (!source_.backed(block.address, block.bytes)) ++without_memory;
    for_each_page(block.address, block.bytes, [&](std::uint64_t at) {
      const auto users = memory_.find(source_.memory_at(at));
      if (users == memory_.end()) return;
      if (users->second.size() > users->second.count(stream)) ++in_two_hands;
    });
  }
  /// Work of `stream` uses the block until the stream is idle. A stream that has ended has no work.
  void given(const Block& block, std::uint64_t stream) {
    if (ended_.count(stream) != 0) return;
    busy_.insert(stream);
    for_each_page(block.address, block.bytes, [&](std::uint64_t at) {
      memory_[source_.memory_at(at)].insert(stream);
      addresses_[at / page].insert(stream);
    });
  }
  void becomes_idle(std::uint64_t stream) {
    busy_.erase(stream);
    for (auto* users : {&memory_, &addresses_}) {
      for (auto at = users->begin(); at != users->end();) {
        at->second.erase(stream);
        at = at->second.empty() ? users->erase(at) : std::next(at);
      }
    }
  }
  void ends(std::uint64_t stream) {
    becomes_idle(stream);
    ended_.insert(stream);
  }

  int in_two_hands = 0;    ///< pages that a stream got while another one's work used them
  int lost = 0;            ///< pages of addresses that lost their memory while work used them
  int without_memory = 0;  ///< blocks

 private:
  using Users = std::map<std::uint64_t, std::set<std::uint64_t>>;

  template <class Visit>
  static void for_each_page(std::uint64_t address, std::uint64_t bytes, Visit&& visit) {
    for (std::uint64_t at = address - address % page; at < address + bytes; at += page) visit(std::max(at, address));
  }
  void lose(std::uint64_t address, std::uint64_t bytes) {
    for_each_page(address, bytes, [&](std::uint64_t at) { lost += addresses_.count(at / page) != 0 ? 1 : 0; });
  }

  FakeSource& source_;
  std::set<std::uint64_t> busy_;
  std::set<std::uint64_t> ended_;
  Users memory_;
  Users addresses_;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t end) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % end;
  }

 private:
  std::uint64_t state_;
};

/// Four streams and four pools at a time, of which any may end at any time: a stream when it is idle, as the allocator
/// has it, a pool always.
class Program {
 public:
  Program(HeapOptions options, std::uint64_t seed)
      : oracle(source), heap_(std::make_unique<Heap>(source, oracle, stats_, options)), random_(seed) {
    source.limit = options.limit;
    for (std::uint64_t& stream : streams_) stream = ++last_id_;
    for (std::uint64_t& pool : pools_) pool = ++last_id_;
    pools_[0] = 0;  // the common one never ends
  }
  Program(const Program&) = delete;  // the oracle and the heap lead to its source
  Program& operator=(const Program&) = delete;
  ~Program() {
    source.on_loss = nullptr;  // what is left goes with the heap
  }

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 4) return oracle.becomes_idle(any_stream());
    if (kind < 6) return end_pool();
    if (kind < 7) return end_stream();
    if (kind < 9) return static_cast<void>(heap_->release_free());
    if (kind < 50 && !live_.empty()) return give();
    take();
  }
  void check() const { heap_->check(); }

  FakeSource source;
  Oracle oracle;
  int taken = 0;

 private:
  std::uint64_t& any_stream() { return streams_[random_.below(std::size(streams_))]; }

  void take() {
    const std::uint64_t stream = any_stream();
    const std::uint64_t bytes =
        random_.below(4) == 0 ? 1 + random_.below(64 * 1024) : mebibyte + random_.below(24 * mebibyte);
    Arena& arena = heap_->arena({stream, pools_[random_.below(std::size(pools_))], bytes <= 64 * 1024});
    Block* block = nullptr;
    for (const Reach reach : {Reach::cached, Reach::grow, Reach::scavenge}) {
      block = heap_->take(arena, bytes, reach);
      if (block == nullptr) continue;
      ++taken;
      oracle.taken(*block, stream);
      live_.emplace_back(block, stream);
      return;
    }
  }

  void give() {
    const std::size_t index = random_.below(live_.size());
    const auto [block, stream] = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    oracle.given(*block, stream);
    heap_->give(block);
  }

  void end_pool() {
    std::uint64_t& pool = pools_[1 + random_.below(std::size(pools_) - 1)];
    heap_->release_free(pool);
    heap_->orphan_pool(pool);
    pool = ++last_id_;
  }

  void end_stream() {
    std::uint64_t& stream = any_stream();
    oracle.ends(stream);
    heap_->orphan(stream);
    stream = ++last_id_;
  }

  StatTable stats_;
  std::unique_ptr<Heap> heap_;
  Random random_;
  std::uint64_t last_id_ = 0;
  std::uint64_t streams_[4];
  std::uint64_t pools_[4];
  std::vector<std::pair<Block*, std::uint64_t>> live_;
};

}  // namespace

TEST_CASE("Heap: what work may still use is its stream's alone, while pools and streams come and go") {
  HeapOptions options;
  options.virtual_memory = GENERATE(true, false);
  options.limit = GENERATE(2048 * mebibyte, 192 * mebibyte);
  options.address_space = options.virtual_memory ? 256 * mebibyte : 0;
  Program program(options, options.limit);
  for (int i = 0; i < 20'000; ++i) {
    program.step();
    if (i % 1000 == 0) program.check();
  }
  program.check();
  CHECK(program.taken > 2'000);
  CHECK(program.oracle.in_two_hands == 0);
  CHECK(program.oracle.lost == 0);
  CHECK(program.oracle.without_memory == 0);
  CHECK(program.source.broken.empty());
}

}  // namespace heap_order_test
