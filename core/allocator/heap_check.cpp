// SPDX-License-Identifier: Apache-2.0
//
// What the heap says of itself: for snapshots, and for tests.
#include <stdexcept>
#include <string>

#include "heap_state.h"

namespace anyplace::detail {
namespace {

SnapshotBlockState state_of(const Block* block) {
  switch (block->use.load(std::memory_order_relaxed)) {
    case BlockUse::taken:
      return SnapshotBlockState::active_allocated;
    case BlockUse::pending:
      return SnapshotBlockState::active_pending_free;
    default:
      return SnapshotBlockState::inactive;
  }
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("heap: ") + what);
}

}  // namespace

void Heap::describe(std::vector<SnapshotSegment>& segments) const {
  for (const auto& [address, segment] : state_->segments) {
    const ArenaKey& key = segment->arena->key;
    bool open = false;  // a segment of the snapshot is a run of what is backed
    for (const Block* block = segment->first; block != nullptr; block = block->after) {
      if (!block->backed) {
        open = false;
        continue;
      }
      if (!open) {
        SnapshotSegment run;
        run.address = block->address;
        run.stream = key.stream;
        run.small = key.small;
        run.expandable = state_->page != 0;
        run.pool = key.pool;
        segments.push_back(std::move(run));
        open = true;
      }
      segments.back().total_bytes += block->bytes;
      segments.back().blocks.push_back({block->address, block->bytes, block->requested, state_of(block)});
    }
  }
}

namespace {

struct Recount {
  std::uint64_t reserved = 0;
  std::uint64_t handed_out_blocks = 0;
  std::uint64_t handed_out_bytes = 0;
  std::uint64_t cached_bytes = 0;
  std::size_t cached = 0;
  std::size_t unbacked = 0;
  std::int64_t split_count = 0;
  std::int64_t split_bytes = 0;
  std::int64_t segments = 0;
};

/// One segment's blocks: tiles, neighbours, indexes.
template <typename State>
void check_blocks(const State& state, const Segment& segment, Recount& sum) {
  const Arena& arena = *segment.arena;
  anyplace_address at = segment.address;
  const Block* before = nullptr;
  for (const Block* block = segment.first; block != nullptr; before = block, block = block->after) {
    require(block->address == at && block->bytes > 0 && block->bytes % block_unit == 0, "blocks tile their segment");
    require(block->before == before && block->segment == &segment && block->arena == &arena, "blocks know their place");
    at = end_of(block);
    if (block->use.load() == BlockUse::spoilt) {
      require(!block->backed && block->bytes % state.page == 0, "what is spoilt is whole pages without memory");
      require(state.index.find(block->address) == nullptr, "what is spoilt isn't found");
      const std::uint64_t begin = (block->address - segment.address) / state.page;
      for (std::uint64_t i = begin; i < begin + block->bytes / state.page; ++i) {
        require(segment.pages.at(i).physical == nullptr, "nothing is mapped where it is spoilt");
      }
      continue;
    }
    if (!is_free(block)) {
      require(block->use.load() != BlockUse::none, "blocks of segments are in use or free");
      require(block->backed, "what is handed out is backed");
      require(state.index.find(block->address) == block, "what is handed out is found");
      ++sum.handed_out_blocks;
      sum.handed_out_bytes += block->bytes;
      continue;
    }
    require(!is_free(before) || before->backed != block->backed, "free neighbours are joined");
    require(state.index.find(block->address) == nullptr, "what is free isn't found");
    if (block->backed) {
      require(arena.cached.contains(block), "free blocks are in the index");
      ++sum.cached;
      sum.cached_bytes += block->bytes;
      const std::int64_t stuck = state.stuck_bytes(block);
      sum.split_count += stuck != 0 ? 1 : 0;
      sum.split_bytes += stuck;
    } else {
      require(state.page != 0 && (block->address - segment.address) % state.page == 0 && block->bytes % state.page == 0,
              "what isn't backed is whole pages");
      require(arena.unbacked.contains(block), "holes are in the index");
      ++sum.unbacked;
    }
  }
  require(at == segment.address + segment.bytes, "blocks fill their segment");
}

/// A page is backed if and only if a backed block reaches into it.
void check_pages(const Segment& segment, std::uint64_t page, std::uint64_t* mappings) {
  std::vector<bool> backed(segment.pages.size());
  for (const Block* block = segment.first; block != nullptr; block = block->after) {
    if (!block->backed) continue;
    const std::uint64_t last = (end_of(block) - segment.address + page - 1) / page;
    require(last <= backed.size(), "backed blocks have pages");
    for (std::uint64_t i = (block->address - segment.address) / page; i < last; ++i) backed[i] = true;
  }
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < backed.size(); ++i) {
    const Page& at = segment.pages[i];
    require(at.segment == &segment && at.index == i, "pages know their place");
    require(at.backed() == backed[i], "pages are backed where blocks are");
    bytes += at.backed() ? page : 0;
    if (at.physical == nullptr) continue;
    ++*mappings;
    require(at.physical->home != nullptr && at.physical->home->backed(), "what is mapped has a home");
    const Page* known = at.physical->mapped;
    while (known != nullptr && known != &at) known = known->next;
    require(known == &at, "memory knows where it is mapped");
  }
  require(bytes == segment.reserved, "a segment's pages are counted");
}

void check_stat(const StatTable& stats, StatKind kind, std::int64_t small, std::int64_t large, const char* what) {
  require(stats.at(kind, StatPool::small).current == small && stats.at(kind, StatPool::large).current == large &&
              stats.at(kind, StatPool::all).current == small + large,
          what);
}

}  // namespace

void Heap::check() const {
  const State& s = *state_;
  Recount small;
  Recount large;
  std::unordered_map<const PoolBooks*, std::uint64_t> pools;
  std::uint64_t reserved = 0;
  std::uint64_t handed_out = 0;
  std::uint64_t mappings = 0;
  std::size_t segments = 0;
  for (const auto& arena : s.arenas) {
    Recount own;
    for (const auto& segment : arena->segments) {
      const auto known = s.segments.find(segment->address);
      require(known != s.segments.end() && known->second == segment.get(), "segments are found by address");
      check_blocks(s, *segment, own);
      if (s.page != 0) check_pages(*segment, s.page, &mappings);
      if (s.page == 0) require(segment->reserved == segment->bytes, "classic segments are backed throughout");
      own.reserved += segment->reserved;
      own.segments += segment->reserved != 0 ? 1 : 0;
    }
    segments += arena->segments.size();
    require(own.reserved == arena->reserved && own.cached_bytes == arena->cached_bytes, "an arena's bytes are counted");
    require(own.handed_out_blocks == arena->handed_out, "an arena's blocks are counted");
    require(own.cached == arena->cached.size() && own.unbacked == arena->unbacked.size(), "indexes hold nothing else");
    pools[arena->pool] += own.reserved;
    reserved += own.reserved;
    handed_out += own.handed_out_bytes;
    Recount& sum = arena->key.small ? small : large;
    sum.reserved += own.reserved;
    sum.split_count += own.split_count;
    sum.split_bytes += own.split_bytes;
    sum.segments += own.segments;
  }
  require(segments == s.segments.size(), "each segment has an arena");
  require(reserved == s.reserved && handed_out == s.handed_out, "the heap's bytes are counted");
  require(mappings == s.pages.mappings && s.pages.held * s.page == (s.page != 0 ? reserved : 0), "pages are counted");
  for (const auto& [id, pool] : s.pools) {
    require(!pool->ended || pools.count(pool.get()) != 0, "a pool that ended is kept for its arenas alone");
  }
  for (const auto& [pool, bytes] : pools) require(pool->reserved == bytes, "a pool's bytes are counted");
  check_stat(s.stats, StatKind::reserved_bytes, static_cast<std::int64_t>(small.reserved),
             static_cast<std::int64_t>(large.reserved), "reserved_bytes");
  check_stat(s.stats, StatKind::segment, small.segments, large.segments, "segment");
  check_stat(s.stats, StatKind::inactive_split, small.split_count, large.split_count, "inactive_split");
  check_stat(s.stats, StatKind::inactive_split_bytes, small.split_bytes, large.split_bytes, "inactive_split_bytes");
}

}  // namespace anyplace::detail
