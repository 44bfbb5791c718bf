// SPDX-License-Identifier: Apache-2.0
// The heap's planner: which moves it plans for a state that was made by hand. No source is involved.
#include "memory/allocator/heap_planner.h"

#include <catch2/catch.hpp>

#include "heap_layout.h"

namespace heap_planner_test {

using anyplace::detail::Arena;
using anyplace::detail::Block;
using anyplace::detail::HeapOptions;
using anyplace::detail::HeapPlanner;
using anyplace::detail::Plan;
using anyplace::detail::Reach;
using anyplace::detail::Segment;
using anyplace::detail::SnapshotSegment;
using anyplace::detail::SourceNews;
using anyplace::test::HeapLayout;

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr std::uint64_t page = anyplace::test::layout_page;
using Lines = std::vector<std::string>;

HeapOptions limited(std::uint64_t pages) {
  HeapOptions options;
  options.limit = pages * page;
  return options;
}

/// A planner over a layout, and what it plans.
struct Desk : HeapLayout {
  explicit Desk(bool virtual_memory = true, const HeapOptions& options = {})
      : HeapLayout(virtual_memory, options), planner(state, user) {}
  ~Desk() { CHECK_NOTHROW(check_heap(state)); }
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  const Plan& plan(const Arena& arena, std::uint64_t bytes, Reach reach = Reach::grow, const SourceNews& news = {}) {
    return planner.plan_take(arena, bytes, reach, news);
  }
  /// So much was handed out once, and is free now: the waste that is allowed depends on it.
  void had_handed_out(std::uint64_t pages) { state.usage.most_handed_out = pages * page; }

  HeapPlanner planner;
};

}  // namespace

// -- Addresses -------------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: an arena without addresses reserves a range, and is planned for again") {
  Desk desk;
  const Plan& large = desk.plan(desk.arena(1), 3 * mebibyte);
  CHECK(desk.moves(large) == Lines{"reserve 65536 MiB, at least 4 MiB"});
  CHECK(desk.place(large) == "again");
  CHECK(desk.moves(desk.plan(desk.arena(1, 0, true), 512)) == Lines{"reserve 1024 MiB, at least 2 MiB"});
  CHECK(desk.moves(desk.plan(desk.arena(1), std::uint64_t{100} << 30U)) ==
        Lines{"reserve 102400 MiB, at least 102400 MiB"});
  SECTION("once for a request") {
    CHECK(desk.place(desk.plan(desk.arena(1), mebibyte, Reach::grow, {.reserved = true})) == "refused");
  }
  SECTION("and not where only cached memory is asked for") {
    const Plan& cached = desk.plan(desk.arena(1), mebibyte, Reach::cached);
    CHECK(desk.moves(cached).empty());
    CHECK(desk.place(cached) == "refused");
  }
}

TEST_CASE("HeapPlanner: the range is as long as the options say") {
  HeapOptions options;
  options.address_space = 33 * mebibyte;
  Desk desk(true, options);
  CHECK(desk.moves(desk.plan(desk.arena(1), mebibyte)) == Lines{"reserve 34 MiB, at least 2 MiB"});
}

// -- Pages -----------------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: a new range begins with new pages") {
  Desk desk;
  desk.range(desk.arena(1), 100);
  const Plan& plan = desk.plan(desk.arena(1), 3 * page - 512);
  CHECK(desk.moves(plan) == Lines{"create 3", "map A 0+3", "back A 0+3"});
  CHECK(desk.pages(plan) == Lines{"new", "new", "new"});
  CHECK(desk.place(plan) == "A 0");
}

TEST_CASE("HeapPlanner: free memory beside a hole serves with it, and only what is lacking is created") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 100);
  desk.hold(range, 0, 4);
  desk.take_pages(range, 0, 2);
  const Plan& plan = desk.plan(desk.arena(1), 5 * page);
  CHECK(desk.moves(plan) == Lines{"create 3", "map A 4+3", "back A 4+3"});
  CHECK(desk.place(plan) == "A 2");
}

TEST_CASE("HeapPlanner: a large arena that grows maps a 128th ahead of need") {
  // Of the 16 or 32 pages that the lower limits leave behind three of a request a 16th is mapped ahead.
  const std::uint64_t limit = GENERATE(1000, 259 + 32, 259 + 16, 259 + 15, 259);
  const std::uint64_t most = limit < 259 + 16 ? 0 : limit < 259 + 32 ? 1 : 2;
  Desk desk(true, limited(limit));
  Arena& arena = desk.arena(1);
  Segment& range = desk.range(arena, 1000);
  desk.hold(range, 0, 256);
  SECTION("behind the request") {
    desk.take_pages(range, 0, 256);
    const Plan& plan = desk.plan(arena, 3 * page - 512);
    const std::string pages = std::to_string(3 + most);
    CHECK(desk.moves(plan) == Lines{"create " + pages, "map A 256+" + pages, "back A 256+" + pages});
    CHECK(plan.ahead == most);
    CHECK(desk.place(plan) == "A 256");
  }
  SECTION("which counts what is free already") {
    desk.take_pages(range, 0, 254);
    CHECK(desk.plan(arena, 5 * page).ahead == most);  // the two free ones are part of the place
    CHECK(desk.place(desk.plan(arena, 5 * page)) == "A 254");
  }
  SECTION("so not where as much is free elsewhere") {
    desk.take_pages(range, 0, 100);
    desk.take_pages(range, 102, 154);
    CHECK(desk.moves(desk.plan(arena, 3 * page)) == Lines{"create 3", "map A 256+3", "back A 256+3"});
  }
  SECTION("and not over addresses where memory of another place is mapped still") {
    desk.hold(range, 260, 1);
    desk.move(range, 260, 1, range, 300);
    desk.take_pages(range, 0, 256);
    desk.take_pages(range, 300, 1);
    if (limit == 1000) CHECK(desk.moves(desk.plan(arena, 3 * page)).front() == "create 4");
  }
  SECTION("nor once the source had no memory") {
    desk.take_pages(range, 0, 256);
    CHECK(desk.plan(arena, 3 * page, Reach::grow, {.refused = true, .pages = 3}).ahead == 0);
    CHECK(desk.plan(arena, 3 * page).ahead == 0);
  }
  SECTION("nor for small requests or at the last resort") {
    desk.take_pages(range, 0, 256);
    CHECK(desk.plan(arena, 3 * page, Reach::scavenge).ahead == 0);
    Arena& small = desk.arena(1, 0, true);
    Segment& others = desk.range(small, 500);
    if (limit != 1000) return;
    desk.hold(others, 0, 256);
    desk.take_pages(others, 0, 256);
    CHECK(desk.plan(small, page).ahead == 0);
    CHECK(desk.plan(arena, page).ahead == 2);
  }
  SECTION("nor where the arena itself has little") {
    desk.take_pages(range, 0, 256);
    desk.range(desk.arena(2), 100);
    CHECK(desk.plan(desk.arena(2), page).ahead == 0);
  }
}

TEST_CASE("HeapPlanner: never more than 64 MiB are mapped ahead") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 10'000);
  desk.hold(range, 0, 8192);
  desk.take_pages(range, 0, 8192);
  CHECK(desk.plan(desk.arena(1), page).ahead == 32);
}

TEST_CASE("HeapPlanner: what the limit doesn't leave isn't planned") {
  Desk desk(true, limited(6));
  Segment& range = desk.range(desk.arena(1), 100);
  desk.hold(range, 0, 4);
  desk.take_pages(range, 0, 4);
  for (const Reach reach : {Reach::grow, Reach::scavenge}) {
    const Plan& plan = desk.plan(desk.arena(1), 3 * page, reach);
    CHECK(desk.moves(plan).empty());
    CHECK(desk.place(plan) == "refused");
    CHECK(desk.place(desk.plan(desk.arena(1), 2 * page, reach)) == "A 4");
  }
}

TEST_CASE("HeapPlanner: memory that is mapped at the place already comes home, without a call of the source") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 100);
  desk.hold(range, 0, 4);
  Block* const fence = desk.take(range, 3, page);
  desk.move(range, 0, 2, range, 10);
  const Plan& plan = desk.plan(desk.arena(1), 3 * page, Reach::cached);
  CHECK(desk.moves(plan) == Lines{"leave A 10+2", "back A 0+2"});
  CHECK(plan.pages.empty());
  CHECK(desk.place(plan) == "A 0");
  desk.give(fence);
}

TEST_CASE("HeapPlanner: a request takes the tightest hole of those that lack as little") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 100);
  for (const std::uint64_t first : {6, 10, 20}) {
    desk.hold(range, first, 1);
    desk.take_pages(range, first, 1);
  }
  CHECK(desk.place(desk.plan(desk.arena(1), 3 * page)) == "A 7");
  CHECK(desk.place(desk.plan(desk.arena(1), 4 * page)) == "A 0");
  CHECK(desk.place(desk.plan(desk.arena(1), 7 * page)) == "A 11");
}

TEST_CASE("HeapPlanner: what is in the way is unmapped in one call, if no work uses the arena") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 4);
  desk.hold(range, 0, 4);
  Segment& other = desk.range(desk.arena(2), 100);
  desk.move(range, 0, 4, other, 0);
  desk.take_pages(other, 0, 4);
  const Plan& plan = desk.plan(desk.arena(1), 4 * page);
  CHECK(desk.moves(plan) == Lines{"create 4", "unmap A 0+4", "map A 0+4", "back A 0+4"});
  desk.user.busy[1] = true;
  CHECK(desk.moves(desk.plan(desk.arena(1), 4 * page)) == Lines{"reserve 65536 MiB, at least 8 MiB"});
}

// -- Moving rather than growing --------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: where growing would waste too much, idle free pages move instead") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 100);
  Segment& other = desk.range(desk.arena(2), 100);
  desk.hold(other, 0, 40);
  SECTION("the last pages of a block first, so that what is left stays one block") {
    const Plan& plan = desk.plan(desk.arena(1), 3 * page);
    CHECK(desk.moves(plan) == Lines{"map A 0+3", "leave B 37+3", "back A 0+3"});
    CHECK(desk.pages(plan) == Lines{"B 37", "B 38", "B 39"});
    CHECK(plan.moved == 3);
  }
  SECTION("the block that was unused for longest first") {
    desk.give(desk.take_pages(other, 0, 40));
    Segment& third = desk.range(desk.arena(3), 100);
    desk.hold(third, 5, 1);
    desk.give(desk.take_pages(other, 0, 40));
    desk.had_handed_out(0);
    const Plan& plan = desk.plan(desk.arena(1), 2 * page);
    CHECK(desk.moves(plan) == Lines{"map A 0+2", "leave C 5+1", "leave B 39+1", "back A 0+2"});
    CHECK(desk.pages(plan) == Lines{"B 39", "C 5"});
  }
  SECTION("an orphan's before all others") {
    Segment& left = desk.range(desk.arena(4), 100);
    desk.hold(left, 0, 1);
    desk.arena(4).orphan = true;
    CHECK(desk.moves(desk.plan(desk.arena(1), page)) == Lines{"map A 0+1", "leave C 0+1", "back A 0+1"});
  }
  SECTION("a busy stream's not at all") {
    desk.user.busy[2] = true;
    CHECK(desk.moves(desk.plan(desk.arena(1), 3 * page)) == Lines{"create 3", "map A 0+3", "back A 0+3"});
  }
  SECTION("a part of a page stays") {
    desk.take(other, 39, 512);
    CHECK(desk.moves(desk.plan(desk.arena(1), page)) == Lines{"map A 0+1", "leave B 38+1", "back A 0+1"});
  }
  SECTION("and what they don't suffice for is created") {
    const Plan& plan = desk.plan(desk.arena(1), 42 * page);
    CHECK(desk.moves(plan) == Lines{"create 2", "map A 0+42", "leave B 0+40", "back A 0+42"});
  }
  CHECK(range.reserved == 0);
}

TEST_CASE("HeapPlanner: growing is allowed up to a part of the most that was handed out") {
  Desk desk;
  desk.range(desk.arena(1), 1000);
  Segment& other = desk.range(desk.arena(2), 2000);
  desk.hold(other, 0, 800);
  const auto creates = [&](std::uint64_t pages) {
    return desk.moves(desk.plan(desk.arena(1), pages * page)).front() == "create " + std::to_string(pages);
  };
  desk.had_handed_out(800);
  // At first an eightieth, and two pages.
  CHECK(creates(12));
  CHECK_FALSE(creates(13));
  SECTION("more in waves") {
    desk.state.usage.waves = 1;
    CHECK(creates(27));
    CHECK_FALSE(creates(28));
  }
  SECTION("more still in waves of several streams") {
    desk.state.usage.waves = 1;
    desk.state.usage.streams = 2;
    CHECK(creates(68));
    CHECK_FALSE(creates(69));
  }
  SECTION("and more where much was moved, up to a sixteenth") {
    desk.state.usage.moved = 640 * page;
    CHECK(creates(22));
    CHECK_FALSE(creates(23));
    desk.state.usage.moved = 1'000'000 * page;
    CHECK(creates(62));
    CHECK_FALSE(creates(63));
  }
}

TEST_CASE("HeapPlanner: when a pool's limit is short only its own pages move") {
  Desk desk;
  Arena& arena = desk.arena(1, 7);
  desk.state.pool_of(7).limit = 10 * page;
  desk.range(arena, 100);
  Segment& sibling = desk.range(desk.arena(2, 7), 100);
  Segment& stranger = desk.range(desk.arena(3), 100);
  desk.hold(stranger, 0, 50);
  desk.hold(sibling, 0, 8);
  CHECK(desk.moves(desk.plan(arena, 6 * page, Reach::scavenge)) ==
        Lines{"create 2", "map A 0+6", "leave B 4+4", "back A 0+6"});
  CHECK(desk.place(desk.plan(arena, 11 * page, Reach::scavenge)) == "refused");
}

// -- The last resort -------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: at the last resort new pages come first, as far as the limit leaves any") {
  Desk desk(true, limited(42));
  desk.range(desk.arena(1), 100);
  desk.hold(desk.range(desk.arena(2), 100), 0, 40);
  const Plan& plan = desk.plan(desk.arena(1), 5 * page, Reach::scavenge);
  CHECK(desk.moves(plan) == Lines{"create 2", "map A 0+5", "leave B 37+3", "back A 0+5"});
  CHECK(desk.pages(plan) == Lines{"B 37", "B 38", "B 39", "new", "new"});
}

TEST_CASE("HeapPlanner: what the source didn't give is made up for by moving") {
  Desk desk;
  desk.range(desk.arena(1), 100);
  desk.hold(desk.range(desk.arena(2), 100), 0, 4);
  CHECK(desk.moves(desk.plan(desk.arena(1), 5 * page, Reach::scavenge)) ==
        Lines{"create 5", "map A 0+5", "back A 0+5"});
  CHECK(desk.moves(desk.plan(desk.arena(1), 5 * page, Reach::scavenge, {.refused = true, .pages = 1})) ==
        Lines{"create 1", "map A 0+5", "leave B 0+4", "back A 0+5"});
  const Plan& refused = desk.plan(desk.arena(1), 5 * page, Reach::scavenge, {.refused = true, .pages = 0});
  CHECK(desk.moves(refused).empty());
  CHECK(desk.place(refused) == "refused");
}

TEST_CASE("HeapPlanner: at the last resort a place that takes up fewer free pages is tried, too") {
  Desk desk(true, limited(4));
  Segment& shared = desk.range(desk.arena(1), 5);
  desk.hold(shared, 0, 1);
  desk.take(shared, 0, page / 2);
  // Four pages would do here, and two of them come home without a call. But only three are free.
  Segment& range = desk.range(desk.arena(1), 4);
  desk.hold(range, 0, 2);
  Segment& other = desk.range(desk.arena(2), 100);
  desk.move(range, 0, 2, other, 0);
  desk.hold(other, 2, 1);
  // Behind the half page three suffice.
  const std::uint64_t bytes = 3 * page + page / 2;
  CHECK(desk.place(desk.plan(desk.arena(1), bytes)) == "refused");
  const Plan& plan = desk.plan(desk.arena(1), bytes, Reach::scavenge);
  CHECK(desk.moves(plan) == Lines{"map A 1+3", "leave C 0+3", "back A 1+3"});
  CHECK(plan.place.begin == shared.address + page / 2);
}

TEST_CASE("HeapPlanner: where there are too many mappings, pages that move end theirs, last of all") {
  Desk desk;
  Segment& range = desk.range(desk.arena(1), 100);
  Segment& other = desk.range(desk.arena(2), 4000);
  desk.hold(other, 0, 40);
  Segment& sink = desk.range(desk.arena(3), 4000);
  anyplace::detail::HeapState::extend_pages(sink, 1200);
  for (std::uint64_t i = 0; i < 1200; ++i) desk.state.attach(sink.pages[i], other.pages[0].physical);
  CHECK(desk.moves(desk.plan(desk.arena(1), 3 * page)) ==
        Lines{"map A 0+3", "leave B 37+3", "back A 0+3", "unmap B 37+3"});
  CHECK(range.reserved == 0);
}

// -- Giving back -----------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: whole free pages of idle arenas go back, after their mappings elsewhere") {
  Desk desk;
  Segment& first = desk.range(desk.arena(1), 100);
  Segment& second = desk.range(desk.arena(2, 5), 100);
  desk.hold(first, 0, 6);
  desk.take(first, 0, 512);  // the rest of its page stays
  desk.move(first, 4, 2, second, 0);
  Lines first_moves = {"release A 1+3"};
  Lines second_moves = {"unmap A 5+1", "unmap A 4+1", "release B 0+2"};
  SECTION("of all arenas") {
    Lines all = first_moves;
    all.insert(all.end(), second_moves.begin(), second_moves.end());
    CHECK(desk.moves(desk.planner.plan_release(nullptr)) == all);
  }
  SECTION("of one pool") {
    const std::uint64_t pool = 5;
    CHECK(desk.moves(desk.planner.plan_release(&pool)) == second_moves);
  }
  SECTION("not of busy ones") {
    desk.user.busy[2] = true;
    CHECK(desk.moves(desk.planner.plan_release(nullptr)) == first_moves);
  }
}

// -- Classic segments ------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: a classic segment is as long as PyTorch's") {
  Desk desk(false);
  const auto allocates = [&](bool small, std::uint64_t bytes) {
    const Plan& plan = desk.plan(desk.arena(1, 0, small), bytes);
    CHECK(desk.place(plan) == "new");
    return desk.moves(plan);
  };
  CHECK(allocates(true, 512) == Lines{"allocate 2 MiB"});
  CHECK(allocates(false, 2 * mebibyte) == Lines{"allocate 20 MiB"});
  CHECK(allocates(false, 10 * mebibyte) == Lines{"allocate 10 MiB"});
  CHECK(allocates(false, 11 * mebibyte) == Lines{"allocate 12 MiB"});
  CHECK(desk.place(desk.plan(desk.arena(1), mebibyte, Reach::cached)) == "refused");
}

TEST_CASE("HeapPlanner: unused segments go back instead of growing, those unused for longest first") {
  Desk desk(false);
  desk.segment(desk.arena(1), 20 * mebibyte);
  desk.segment(desk.arena(2), 40 * mebibyte);
  desk.segment(desk.arena(2), 40 * mebibyte);
  CHECK(desk.moves(desk.plan(desk.arena(1), 50 * mebibyte)) == Lines{"free A", "free B", "allocate 50 MiB"});
  SECTION("but not a busy stream's") {
    desk.user.busy[1] = true;
    CHECK(desk.moves(desk.plan(desk.arena(3), 30 * mebibyte)) == Lines{"free B", "allocate 30 MiB"});
  }
  SECTION("and not one that is in use") {
    desk.take(*desk.arena(1).segments[0], 0, mebibyte);
    CHECK(desk.moves(desk.plan(desk.arena(3), 30 * mebibyte)) == Lines{"free B", "allocate 30 MiB"});
  }
}

TEST_CASE("HeapPlanner: at the limit, unused segments go back at the last resort, and only as many as needed") {
  HeapOptions options;
  options.limit = 100 * mebibyte;
  Desk desk(false, options);
  desk.had_handed_out(1000);  // so that growing isn't what is in the way
  for (int i = 0; i < 4; ++i) desk.segment(desk.arena(1), 20 * mebibyte);
  CHECK(desk.moves(desk.plan(desk.arena(2), 50 * mebibyte)).empty());
  CHECK(desk.moves(desk.plan(desk.arena(2), 50 * mebibyte, Reach::scavenge)) ==
        Lines{"free A", "free B", "allocate 50 MiB"});
  const Plan& refused = desk.plan(desk.arena(2), 102 * mebibyte, Reach::scavenge);
  CHECK(desk.moves(refused) == Lines{"free A", "free B", "free C", "free D"});
  CHECK(desk.place(refused) == "refused");
}

TEST_CASE("HeapPlanner: when the source has refused a segment, all unused ones go back") {
  Desk desk(false);
  desk.had_handed_out(1000);
  desk.segment(desk.arena(1), 20 * mebibyte);
  desk.segment(desk.arena(1), 20 * mebibyte);
  desk.segment(desk.arena(2, 5), 20 * mebibyte);
  const SourceNews refused = {.refused = true};
  CHECK(desk.moves(desk.plan(desk.arena(3), 30 * mebibyte, Reach::scavenge, refused)) ==
        Lines{"free B", "free A", "free C", "allocate 30 MiB"});
  SECTION("a limited pool's own") {
    desk.state.pool_of(5).limit = 1000 * mebibyte;
    CHECK(desk.moves(desk.plan(desk.arena(2, 5), 30 * mebibyte, Reach::scavenge, refused)) ==
          Lines{"free C", "allocate 30 MiB"});
  }
}

TEST_CASE("HeapPlanner: a block that isn't split fits requests of about its size") {
  HeapOptions options;
  options.max_split_bytes = 32 * mebibyte;
  Desk desk(false, options);
  desk.segment(desk.arena(1), 64 * mebibyte);
  CHECK(desk.planner.find_fit(desk.arena(1), 44 * mebibyte) == nullptr);
  CHECK(desk.planner.find_fit(desk.arena(1), 45 * mebibyte) != nullptr);
  CHECK(desk.planner.find_fit(desk.arena(1), 4 * mebibyte) == nullptr);
}

// -- Purity ----------------------------------------------------------------------------------------------------------

TEST_CASE("HeapPlanner: planning changes nothing, and the same state has the same plan") {
  Desk desk;
  desk.range(desk.arena(1), 100);
  Segment& other = desk.range(desk.arena(2), 100);
  desk.hold(other, 0, 40);
  desk.take_pages(other, 3, 7);
  const auto shape = [&] {
    std::vector<SnapshotSegment> segments;
    describe_heap(desk.state, segments);
    std::string text = std::to_string(desk.state.pages.mappings) + " " + std::to_string(desk.state.clock);
    for (const SnapshotSegment& segment : segments) {
      for (const auto& block : segment.blocks) {
        text += " " + std::to_string(block.address) + "+" + std::to_string(block.bytes) +
                (block.state == anyplace::detail::SnapshotBlockState::inactive ? "free" : "taken");
      }
    }
    return text;
  };
  const std::string before = shape();
  for (const Reach reach : {Reach::cached, Reach::grow, Reach::scavenge}) {
    const Lines moves = desk.moves(desk.plan(desk.arena(1), 5 * page, reach));
    const Lines pages = desk.pages(desk.plan(desk.arena(1), 5 * page, reach));
    desk.planner.plan_release(nullptr);
    HeapPlanner fresh(desk.state, desk.user);
    CHECK(desk.moves(fresh.plan_take(desk.arena(1), 5 * page, reach, {})) == moves);
    CHECK(desk.pages(desk.plan(desk.arena(1), 5 * page, reach)) == pages);
  }
  CHECK(shape() == before);
}

}  // namespace heap_planner_test
