// SPDX-License-Identifier: Apache-2.0
// The heap's executor: a move that the source refuses halfway leaves the heap as it was, whichever call it is.
#include "memory/allocator/heap_executor.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fake_source.h"
#include "heap_layout.h"
#include "memory/allocator/heap_planner.h"

namespace heap_executor_test {

using anyplace::detail::Arena;
using anyplace::detail::Block;
using anyplace::detail::BlockUse;
using anyplace::detail::HeapExecutor;
using anyplace::detail::HeapOptions;
using anyplace::detail::HeapPlanner;
using anyplace::detail::HeapState;
using anyplace::detail::MoveKind;
using anyplace::detail::Plan;
using anyplace::detail::PlanEnd;
using anyplace::detail::Reach;
using anyplace::detail::SourceNews;
using anyplace::detail::SourceResult;
using anyplace::test::FakeSource;
using anyplace::test::HeapLayout;

namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr std::uint64_t page = anyplace::test::layout_page;

/// A heap's parts over a source that knows what it gave.
struct Shop : HeapLayout {
  explicit Shop(bool virtual_memory = true, const HeapOptions& options = {})
      : HeapLayout(virtual_memory, options), planner(state, user), executor(state, source, user) {}
  ~Shop() {
    executor.drop_pages_at_hand();
    executor.give_back_everything();
    CHECK(source.empty());
    CHECK(source.broken.empty());
  }
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;

  /// As Heap does it; null if it is refused.
  Block* take(Arena& arena, std::uint64_t bytes, Reach reach = Reach::grow) {
    ++state.clock;
    if (Block* fit = planner.find_fit(arena, bytes)) return carve(fit, fit->address, bytes);
    SourceNews news;
    for (;;) {
      const Plan& plan = planner.plan_take(arena, bytes, reach, news);
      if (executor.run(plan, &arena) != HeapExecutor::Outcome::done || plan.end == PlanEnd::refused) return nullptr;
      news.reserved = true;
      if (plan.end == PlanEnd::again) continue;
      Block* const block = executor.block_at(plan.place);
      return carve(block, plan.place.segment != nullptr ? plan.place.begin : block->address, bytes);
    }
  }
  Block* take_pages(Arena& arena, std::uint64_t count, Reach reach = Reach::grow) {
    return take(arena, count * page, reach);
  }
  Block* carve(Block* block, anyplace_address begin, std::uint64_t bytes) {
    Block* const taken = state.carve(block, begin, bytes);
    state.settle(taken->arena->key.small);
    return taken;
  }

  /// All blocks, with holes and spoilt addresses as one, and the figures.
  std::string shape() const {
    std::string text;
    for (const auto& [address, segment] : state.segments) {
      text += "segment " + std::to_string(segment->arena->key.stream) + " " + std::to_string(segment->reserved) + "\n";
      bool in_hole = false;
      for (const Block* block = segment->first; block != nullptr; block = block->after) {
        if (!block->backed && in_hole) continue;
        in_hole = !block->backed;
        text += std::to_string(block->address);
        text += !block->backed ? " hole" : " " + std::to_string(block->bytes) + (is_free(block) ? " free" : " taken");
        text += "\n";
      }
    }
    for (const auto& arena : state.arenas) {
      text += "arena " + std::to_string(arena->reserved) + " " + std::to_string(arena->cached_bytes) + " " +
              std::to_string(arena->handed_out) + "\n";
    }
    return text + std::to_string(state.reserved) + " " + std::to_string(state.pages.held) + " " +
           std::to_string(state.usage.moved);
  }

  FakeSource source;
  HeapPlanner planner;
  HeapExecutor executor;
};

/// A state, and a request that its plan is about.
struct Job {
  const char* name;
  bool virtual_memory = true;
  HeapOptions options;
  std::function<void(Shop&)> prepare;
  std::uint64_t pages = 0;
  Reach reach = Reach::grow;
};

HeapOptions limited(std::uint64_t pages) {
  HeapOptions options;
  options.limit = pages * page;
  return options;
}

const std::vector<Job>& jobs() {
  static const std::vector<Job> all = {
      {"a first range", true, {}, [](Shop&) {}, 3},
      {"new pages behind a free one", true, {}, [](Shop& shop) { shop.give(shop.take_pages(shop.arena(1), 2)); }, 5},
      {"pages of another arena",
       true,
       {},
       [](Shop& shop) {
         Block* first = shop.take_pages(shop.arena(2), 20);
         Block* second = shop.take_pages(shop.arena(2), 20);
         shop.take_pages(shop.arena(1), 1);
         shop.give(first);
         shop.give(second);
       },
       25},
      {"new pages, and others for which there is no room", true, limited(30),
       [](Shop& shop) {
         Block* block = shop.take_pages(shop.arena(2), 25);
         shop.take_pages(shop.arena(1), 1);
         shop.give(block);
       },
       20, Reach::scavenge},
      {"pages that come home", true, limited(24),
       [](Shop& shop) {
         shop.give(shop.take_pages(shop.arena(1), 12));
         shop.give(shop.take_pages(shop.arena(2), 20, Reach::scavenge));
       },
       14, Reach::scavenge},
      {"mappings in the way", true, limited(4),
       [](Shop& shop) {
         shop.state.options.address_space = 4 * page;
         shop.give(shop.take_pages(shop.arena(1), 4));
         shop.take_pages(shop.arena(2), 4, Reach::scavenge);
         shop.state.options.limit = UINT64_MAX;
       },
       4},
      {"a classic segment", false, {}, [](Shop& shop) { shop.take_pages(shop.arena(1), 1); }, 20},
  };
  return all;
}

}  // namespace

TEST_CASE("HeapExecutor: a move that fails halfway leaves the heap as it was, whichever call it is") {
  const bool maps_all = GENERATE(true, false);
  for (const Job& job : jobs()) {
    bool failed = true;
    for (std::uint64_t nth = 1; failed; ++nth) {
      INFO(job.name << ", call " << nth);
      Shop shop(job.virtual_memory, job.options);
      shop.source.maps_all = maps_all;
      job.prepare(shop);
      Arena& arena = shop.arena(1);
      // A range of addresses is no part of what is compared: it stays for the next request.
      if (job.virtual_memory && shop.planner.plan_take(arena, job.pages * page, job.reach, {}).end == PlanEnd::again) {
        REQUIRE(shop.executor.run(shop.planner.plan_take(arena, job.pages * page, job.reach, {}), &arena) ==
                HeapExecutor::Outcome::done);
      }
      ++shop.state.clock;
      const std::string before = shop.shape();
      const Plan& plan = shop.planner.plan_take(arena, job.pages * page, job.reach, {.reserved = true});
      REQUIRE(plan.end == PlanEnd::block);
      const std::uint64_t calls_before = shop.source.calls;
      shop.source.fail_call = calls_before + nth;
      const HeapExecutor::Outcome outcome = shop.executor.run(plan, &arena);
      failed = shop.source.calls >= shop.source.fail_call;
      CHECK(failed == (outcome != HeapExecutor::Outcome::done));
      CHECK((failed || nth > 1));
      shop.source.fail_call = 0;
      shop.executor.drop_pages_at_hand();
      REQUIRE_NOTHROW(check_heap(shop.state));
      REQUIRE(shop.source.used == shop.state.reserved);
      if (outcome == HeapExecutor::Outcome::done) {
        CHECK(shop.executor.block_at(plan.place)->backed);
      } else {
        CHECK(shop.executor.result == SourceResult::failed);
        CHECK(shop.shape() == before);
        // Nothing is lost: the same request is served as soon as the source is well.
        CHECK(shop.take_pages(arena, job.pages, Reach::scavenge) != nullptr);
        REQUIRE_NOTHROW(check_heap(shop.state));
      }
    }
  }
}

TEST_CASE("HeapExecutor: the jobs above have every kind of move that serves a request") {
  std::string kinds;
  for (const Job& job : jobs()) {
    Shop shop(job.virtual_memory, job.options);
    job.prepare(shop);
    Arena& arena = shop.arena(1);
    for (int i = 0; i < 2; ++i) {
      const Plan& plan = shop.planner.plan_take(arena, job.pages * page, job.reach, {});
      for (const std::string& line : shop.moves(plan)) kinds += line.substr(0, line.find(' ')) + " ";
      if (plan.end != PlanEnd::again) break;
      REQUIRE(shop.executor.run(plan, &arena) == HeapExecutor::Outcome::done);
    }
  }
  for (const char* kind : {"reserve", "create", "unmap", "map", "leave", "back", "allocate"}) {
    INFO(kind);
    CHECK(kinds.find(std::string(kind) + " ") != std::string::npos);
  }
}

TEST_CASE("HeapExecutor: pages that the source gave before it refused are at hand for the next plan") {
  Shop shop;
  Arena& arena = shop.arena(1);
  shop.give(shop.take_pages(shop.arena(2), 4));
  shop.give(shop.take_pages(arena, 1));
  shop.source.limit = 7 * page;
  const Plan& first = shop.planner.plan_take(arena, 6 * page, Reach::scavenge, {});
  REQUIRE(shop.executor.run(first, &arena) == HeapExecutor::Outcome::short_of_memory);
  CHECK(shop.executor.pages_at_hand() == 2);
  const std::uint64_t calls = shop.source.calls;
  const Plan& second = shop.planner.plan_take(arena, 6 * page, Reach::scavenge, {.refused = true, .pages = 2});
  REQUIRE(second.end == PlanEnd::block);
  REQUIRE(shop.executor.run(second, &arena) == HeapExecutor::Outcome::done);
  CHECK(shop.source.calls == calls + 1);  // five pages are mapped, none is created
  CHECK(shop.executor.pages_at_hand() == 0);
  REQUIRE_NOTHROW(check_heap(shop.state));
  CHECK(shop.source.used == shop.state.reserved);
}

TEST_CASE("HeapExecutor: a range is as long as the source has addresses for") {
  Shop shop;
  shop.source.address_limit = 5 * page;
  REQUIRE(shop.take_pages(shop.arena(1), 2) != nullptr);
  CHECK(shop.source.addresses_used >= 2 * page);
  CHECK(shop.source.addresses_used <= 5 * page);
  REQUIRE_NOTHROW(check_heap(shop.state));
}

TEST_CASE("HeapExecutor: giving back ends at the first unmap that fails, and what isn't given back stays in use") {
  Shop shop;
  Block* first = shop.take_pages(shop.arena(1), 4);
  Block* second = shop.take_pages(shop.arena(2), 4);
  shop.give(first);
  shop.give(second);
  const std::uint64_t nth = GENERATE(1, 6);  // each arena: an unmap and four pages
  shop.source.fail_call = shop.source.calls + nth;
  shop.executor.run(shop.planner.plan_release(nullptr), nullptr);
  CHECK(shop.executor.released() == (nth == 1 ? 0 : 4 * page));
  REQUIRE_NOTHROW(check_heap(shop.state));
  CHECK(shop.source.used == shop.state.reserved);
  CHECK(shop.take_pages(shop.arena(1), 4) != nullptr);
  CHECK(shop.take_pages(shop.arena(2), 4) != nullptr);
}

TEST_CASE("HeapExecutor: a classic segment that is refused leaves what was given back for it given back") {
  Shop shop(false);
  shop.give(shop.take(shop.arena(1), 20 * mebibyte));
  shop.source.fail_call = shop.source.calls + 2;
  CHECK(shop.take(shop.arena(2), 30 * mebibyte) == nullptr);
  CHECK(shop.source.used == 0);
  REQUIRE_NOTHROW(check_heap(shop.state));
  CHECK(shop.take(shop.arena(2), 30 * mebibyte) != nullptr);
}

TEST_CASE("HeapExecutor: in the end segments go back in the order of their making, wherever their addresses are") {
  const bool virtual_memory = GENERATE(true, false);
  const bool upwards = GENERATE(true, false);
  std::vector<std::uint64_t> gone;
  {
    Shop shop(virtual_memory);
    shop.take(shop.arena(1), 20 * mebibyte);
    if (!upwards) shop.source.next = std::uint64_t{1} << 30U;
    shop.take(shop.arena(2), 30 * mebibyte);
    shop.source.on_loss = [&](std::uint64_t /*address*/, std::uint64_t bytes) { gone.push_back(bytes); };
  }
  REQUIRE(gone.size() == 2);
  CHECK(gone[0] == 20 * mebibyte);
  CHECK(gone[1] == 30 * mebibyte);
}

}  // namespace heap_executor_test
