// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/heap_check.h"

#include <stdexcept>
#include <string>
#include <unordered_map>

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

void describe_heap(const HeapState& state, std::vector<SnapshotSegment>& segments) {
  for (const auto& [address, segment] : state.segments) {
    const ArenaKey& key = segment->arena->key;
    bool open = false;  // a segment of the snapshot is a run of backed blocks
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
        run.expandable = state.page != 0;
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

void check_spoilt(const HeapState& state, const Block* block) {
  const Segment& segment = *block->segment;
  require(!block->backed && block->bytes % state.page == 0, "what is spoilt is whole pages without memory");
  require(state.index.find(block->address) == nullptr, "what is spoilt isn't found");
  const std::uint64_t begin = (block->address - segment.address) / state.page;
  for (std::uint64_t i = begin; i < begin + block->bytes / state.page; ++i) {
    require(segment.pages.at(i).physical == nullptr, "nothing is mapped where it is spoilt");
  }
}

void check_used(const HeapState& state, const Block* block, Recount& sum) {
  require(block->use.load() != BlockUse::none, "blocks of segments are in use or free");
  require(block->backed, "what is handed out is backed");
  require(state.index.find(block->address) == block, "what is handed out is found");
  ++sum.handed_out_blocks;
  sum.handed_out_bytes += block->bytes;
}

void check_free(const HeapState& state, const Block* block, Recount& sum) {
  const Block* const before = block->before;
  require(!is_free(before) || before->backed != block->backed, "free neighbours are joined");
  require(state.index.find(block->address) == nullptr, "what is free isn't found");
  if (block->backed) {
    require(block->arena->cached.contains(block), "free blocks are in the index");
    ++sum.cached;
    sum.cached_bytes += block->bytes;
    const std::int64_t stuck = state.stuck_bytes(block);
    sum.split_count += stuck != 0 ? 1 : 0;
    sum.split_bytes += stuck;
    return;
  }
  require(
      state.page != 0 && (block->address - block->segment->address) % state.page == 0 && block->bytes % state.page == 0,
      "what isn't backed is whole pages");
  require(block->arena->unbacked.contains(block), "holes are in the index");
  ++sum.unbacked;
}

/// Checks one segment's blocks: that they tile it, their neighbours and their indexes.
void check_blocks(const HeapState& state, const Segment& segment, Recount& sum) {
  anyplace_address at = segment.address;
  const Block* before = nullptr;
  for (const Block* block = segment.first; block != nullptr; before = block, block = block->after) {
    require(block->address == at && block->bytes > 0 && block->bytes % block_unit == 0, "blocks tile their segment");
    require(block->before == before && block->segment == &segment && block->arena == segment.arena,
            "blocks know their place");
    at = end_of(block);
    if (block->use.load() == BlockUse::spoilt) {
      check_spoilt(state, block);
    } else if (is_free(block)) {
      check_free(state, block, sum);
    } else {
      check_used(state, block, sum);
    }
  }
  require(at == segment.address + segment.bytes, "blocks fill their segment");
}

/// Which pages of a segment have a backed block in them.
std::vector<bool> backed_pages(const Segment& segment, std::uint64_t page) {
  std::vector<bool> backed(segment.pages.size());
  for (const Block* block = segment.first; block != nullptr; block = block->after) {
    if (!block->backed) continue;
    const std::uint64_t last = (end_of(block) - segment.address + page - 1) / page;
    require(last <= backed.size(), "backed blocks have pages");
    for (std::uint64_t i = (block->address - segment.address) / page; i < last; ++i) backed[i] = true;
  }
  return backed;
}

void check_mapping(const Page& at) {
  require(at.physical->home != nullptr && at.physical->home->backed(), "what is mapped has a home");
  const Page* known = at.physical->mapped;
  while (known != nullptr && known != &at) known = known->next;
  require(known == &at, "memory knows where it is mapped");
}

/// Checks that a page is backed if and only if a backed block reaches into it. Returns how many of the pages are
/// mapped.
std::uint64_t check_pages(const Segment& segment, std::uint64_t page) {
  const std::vector<bool> backed = backed_pages(segment, page);
  std::uint64_t bytes = 0;
  std::uint64_t mappings = 0;
  for (std::size_t i = 0; i < backed.size(); ++i) {
    const Page& at = segment.pages[i];
    require(at.segment == &segment && at.index == i, "pages know their place");
    require(at.backed() == backed[i], "pages are backed where blocks are");
    bytes += at.backed() ? page : 0;
    if (at.physical == nullptr) continue;
    ++mappings;
    check_mapping(at);
  }
  require(bytes == segment.reserved, "a segment's pages are counted");
  return mappings;
}

void check_stat(const StatTable& stats, StatKind kind, std::int64_t small, std::int64_t large, const char* what) {
  require(stats.at(kind, StatPool::small).current == small && stats.at(kind, StatPool::large).current == large &&
              stats.at(kind, StatPool::all).current == small + large,
          what);
}

/// The sums over all arenas.
struct Totals {
  Recount small;
  Recount large;
  std::unordered_map<const PoolTotals*, std::uint64_t> pools;
  std::uint64_t handed_out_bytes = 0;
  std::uint64_t mappings = 0;
  std::size_t segments = 0;

  std::uint64_t reserved() const { return small.reserved + large.reserved; }
};

/// Recounts one arena, compares the result with the arena's own figures, and adds it to the totals.
void check_arena(const HeapState& state, const Arena& arena, Totals& totals) {
  Recount own;
  for (const auto& segment : arena.segments) {
    const auto known = state.segments.find(segment->address);
    require(known != state.segments.end() && known->second == segment.get(), "segments are found by address");
    check_blocks(state, *segment, own);
    if (state.page != 0) totals.mappings += check_pages(*segment, state.page);
    if (state.page == 0) require(segment->reserved == segment->bytes, "classic segments are backed throughout");
    own.reserved += segment->reserved;
    own.segments += segment->reserved != 0 ? 1 : 0;
  }
  require(own.reserved == arena.reserved && own.cached_bytes == arena.cached_bytes, "an arena's bytes are counted");
  require(own.handed_out_blocks == arena.handed_out, "an arena's blocks are counted");
  require(own.cached == arena.cached.size() && own.unbacked == arena.unbacked.size(), "indexes hold nothing else");
  totals.segments += arena.segments.size();
  totals.pools[arena.pool] += own.reserved;
  totals.handed_out_bytes += own.handed_out_bytes;
  Recount& sum = arena.key.small ? totals.small : totals.large;
  sum.reserved += own.reserved;
  sum.split_count += own.split_count;
  sum.split_bytes += own.split_bytes;
  sum.segments += own.segments;
}

void check_pools(const HeapState& state, const Totals& totals) {
  for (const auto& [id, pool] : state.pools) {
    require(!pool->ended || totals.pools.count(pool.get()) != 0, "a pool that ended is kept for its arenas alone");
  }
  for (const auto& [pool, bytes] : totals.pools) require(pool->reserved == bytes, "a pool's bytes are counted");
}

void check_stats(const StatTable& stats, const Recount& small, const Recount& large) {
  check_stat(stats, StatKind::reserved_bytes, static_cast<std::int64_t>(small.reserved),
             static_cast<std::int64_t>(large.reserved), "reserved_bytes");
  check_stat(stats, StatKind::segment, small.segments, large.segments, "segment");
  check_stat(stats, StatKind::inactive_split, small.split_count, large.split_count, "inactive_split");
  check_stat(stats, StatKind::inactive_split_bytes, small.split_bytes, large.split_bytes, "inactive_split_bytes");
}

}  // namespace

void check_heap(const HeapState& state) {
  Totals totals;
  for (const auto& arena : state.arenas) check_arena(state, *arena, totals);
  require(totals.segments == state.segments.size(), "each segment has an arena");
  require(totals.reserved() == state.reserved, "the heap's bytes are counted");
  require(totals.handed_out_bytes == state.usage.handed_out, "what is handed out is counted");
  require(totals.mappings == state.pages.mappings, "mappings are counted");
  require(state.pages.held * state.page == (state.page != 0 ? totals.reserved() : 0), "pages are counted");
  check_pools(state, totals);
  check_stats(state.stats, totals.small, totals.large);
}

}  // namespace anyplace::detail
