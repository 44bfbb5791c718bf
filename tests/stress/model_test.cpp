// SPDX-License-Identifier: Apache-2.0
//
// The oracle itself: what has no order is refused, what has one is admitted, and shrinking leaves what is needed.
#include <catch2/catch.hpp>
#include <initializer_list>

#include "generator.h"
#include "model.h"
#include "shrink.h"

namespace model_test {

using namespace stress;

namespace {

constexpr Number first = 4, bytes = 64;  // with a device and two threads, streams 3 and 4 are the first that are made

std::vector<Traits> device() {
  Traits traits;
  traits.backend = "cpu_sim";
  traits.blocking_streams = traits.pinned = traits.host_functions = traits.timed_events = traits.modules = true;
  traits.memory = 1 << 30;
  return {traits};
}

Round empty_round() {
  Round round;
  round.places = {"cpu_sim:0"};
  round.threads = 2;
  return round;
}

/// Applies all but the last, which it must admit, and gives what is said of the last.
Refusal last_of(std::initializer_list<Operation> operations) {
  Model model(empty_round(), device());
  Refusal refusal;
  for (const Operation& operation : operations) {
    INFO(to_text(operation));
    CHECK_FALSE(refusal);
    Step step;
    refusal = model.apply(operation, step);
  }
  return refusal;
}

Operation make_stream(Number stream, Number option = 0) {
  return {.kind = Kind::make_stream, .stream = stream, .option = option};
}
Operation make_buffer(Number buffer, Number stream) {
  return {.kind = Kind::make_buffer, .stream = stream, .buffer = buffer, .pool = -1, .bytes = bytes};
}
Operation fill(Number buffer, Number stream, std::uint32_t thread = 0) {
  return {.kind = Kind::fill,
          .thread = thread,
          .stream = stream,
          .buffer = buffer,
          .bytes = bytes,
          .value = 1,
          .option = 1};
}
Operation copy(Number to, Number from, Number stream) {
  return {.kind = Kind::copy, .stream = stream, .buffer = to, .from = from, .bytes = bytes};
}
Operation end_buffer(Number buffer) { return {.kind = Kind::end_buffer, .buffer = buffer}; }

}  // namespace

TEST_CASE("Two writes on two streams are refused until one stream waits for the other") {
  const Refusal refusal = last_of({make_stream(3), make_stream(first), make_buffer(0, 3), fill(0, 3), fill(0, first)});
  CHECK(refusal.why == Refusal::Why::race);
  CHECK(refusal.work.stream == 3);
  CHECK_FALSE(last_of({make_stream(3),
                       make_stream(first),
                       make_buffer(0, 3),
                       fill(0, 3),
                       {.kind = Kind::wait_stream, .stream = first, .other = 3},
                       fill(0, first)}));
  CHECK_FALSE(last_of({make_stream(3),
                       make_stream(first),
                       make_buffer(0, 3),
                       fill(0, 3),
                       {.kind = Kind::record_new, .stream = 3, .event = 0},
                       {.kind = Kind::wait_event, .stream = first, .event = 0},
                       fill(0, first)}));
  CHECK_FALSE(last_of({make_stream(3),
                       make_stream(first),
                       make_buffer(0, 3),
                       fill(0, 3),
                       {.kind = Kind::sync_stream, .stream = 3},
                       fill(0, first)}));
}

TEST_CASE("An event that was recorded before the work gives it no order") {
  CHECK(last_of({make_stream(3),
                 make_stream(first),
                 make_buffer(0, 3),
                 {.kind = Kind::record_new, .stream = 3, .event = 0},
                 fill(0, 3),
                 {.kind = Kind::wait_event, .stream = first, .event = 0},
                 fill(0, first)})
            .why == Refusal::Why::race);
}

TEST_CASE("The null stream has an order with blocking streams and with no others") {
  CHECK_FALSE(last_of({make_stream(3, blocking), make_buffer(0, 3), fill(0, 3), fill(0, 0)}));
  CHECK(last_of({make_stream(3), make_buffer(0, 3), fill(0, 3), fill(0, 0)}).why == Refusal::Why::race);
}

TEST_CASE("The host looks only at what it waited for") {
  const Operation make_host{.kind = Kind::make_host, .bytes = bytes, .option = pinned};
  const Operation download{.kind = Kind::download, .stream = 3, .bytes = bytes};
  const Operation check{.kind = Kind::check_host, .bytes = bytes};
  const Refusal refusal = last_of({make_stream(3), make_buffer(0, 3), fill(0, 3), make_host, download, check});
  CHECK(refusal.why == Refusal::Why::race);
  CHECK(refusal.on_host);
  CHECK_FALSE(last_of(
      {make_stream(3), make_buffer(0, 3), fill(0, 3), make_host, download, {.kind = Kind::sync_device}, check}));
}

TEST_CASE("Pageable memory is read at the call: what writes it must be done, not only submitted") {
  for (const Number kind : {Number{pageable}, Number{pinned}}) {
    const Refusal refusal = last_of({make_stream(3),
                                     make_buffer(0, 3),
                                     fill(0, 3),
                                     {.kind = Kind::make_host, .bytes = bytes, .option = kind},
                                     {.kind = Kind::download, .stream = 3, .bytes = bytes},
                                     {.kind = Kind::upload, .stream = 3, .bytes = bytes}});
    CHECK(static_cast<bool>(refusal) == (kind == pageable));
  }
}

TEST_CASE("Memory that another backend pinned is pageable") {
  std::vector<Traits> traits = {device().front(), device().front()};
  traits[1].backend = "cuda";
  Round round = empty_round();
  round.places = {"cpu_sim:0", "cuda:0"};
  constexpr Number stream = 6;
  for (const Number pinned_for : {Number{0}, Number{1}}) {
    Model model(round, traits);
    Refusal refusal;
    for (const Operation& operation :
         {Operation{.kind = Kind::make_stream, .stream = stream, .device = 1},
          make_buffer(0, stream),
          fill(0, stream),
          {.kind = Kind::make_host, .device = pinned_for, .bytes = bytes, .option = pinned},
          {.kind = Kind::download, .stream = stream, .bytes = bytes},
          {.kind = Kind::upload, .stream = stream, .bytes = bytes}}) {
      INFO(to_text(operation));
      CHECK_FALSE(refusal);
      Step step;
      refusal = model.apply(operation, step);
    }
    CHECK(static_cast<bool>(refusal) == (pinned_for == 0));
  }
}

TEST_CASE("A buffer that another stream uses is freed when that stream is recorded or waited for") {
  CHECK(last_of({make_stream(3),
                 make_stream(first),
                 make_buffer(0, 3),
                 make_buffer(1, first),
                 fill(0, 3),
                 {.kind = Kind::wait_stream, .stream = first, .other = 3},
                 copy(1, 0, first),
                 end_buffer(0)})
            .why == Refusal::Why::race);
  CHECK_FALSE(last_of({make_stream(3),
                       make_stream(first),
                       make_buffer(0, 3),
                       make_buffer(1, first),
                       fill(0, 3),
                       {.kind = Kind::wait_stream, .stream = first, .other = 3},
                       copy(1, 0, first),
                       {.kind = Kind::record_stream, .stream = first},
                       end_buffer(0)}));
  CHECK_FALSE(last_of({make_stream(3),
                       make_stream(first),
                       make_buffer(0, 3),
                       make_buffer(1, first),
                       fill(0, 3),
                       {.kind = Kind::wait_stream, .stream = first, .other = 3},
                       copy(1, 0, first),
                       {.kind = Kind::wait_stream, .stream = 3, .other = first},
                       end_buffer(0)}));
}

TEST_CASE("What has no meaning is refused") {
  for (const Operation& senseless :
       {fill(0, 3), end_buffer(0), make_stream(0), fill(0, 1, 1), Operation{.kind = Kind::query_event},
        Operation{.kind = Kind::stale_buffer}, Operation{.kind = Kind::end_stream}}) {
    INFO(to_text(senseless));
    CHECK(last_of({senseless}).why == Refusal::Why::senseless);
  }
}

TEST_CASE("Two threads that use one buffer have an order, and their own buffers have none") {
  Model model(empty_round(), device());
  Step step;
  for (const Operation& operation : {make_buffer(0, 0), make_buffer(1, 0), fill(0, 0)})
    CHECK_FALSE(model.apply(operation, step));
  CHECK_FALSE(model.apply(fill(1, 0, 1), step));
  CHECK(step.behind == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 2}});  // its making, not the fill
  CHECK_FALSE(model.apply(fill(0, 0, 1), step));
  CHECK(step.behind == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 3}});
}

TEST_CASE("A round is the same for its seed, makes sense, and is read back as it was written") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Round round = make_round(seed, {"cpu_sim:0"}, device(), {});
    CHECK(round == make_round(seed, {"cpu_sim:0"}, device(), {}));
    CHECK(to_text(parse_round(to_text(round))) == to_text(round));
    const Plan whole = plan(round, device());
    CHECK(whole.round == round);
    CHECK(whole.checks > 0);
  }
}

TEST_CASE("A round that can't be read names the line") {
  using Catch::Contains;
  CHECK_THROWS_WITH(parse_round("places cpu_sim:0\n0 fil stream=1\n"), Contains("line 2") && Contains("'fil'"));
  CHECK_THROWS_WITH(parse_round("places cpu_sim:0\n0 fill strom=1\n"), Contains("line 2") && Contains("'strom'"));
  CHECK_THROWS_WITH(parse_round("places cpu_sim:0\n0 fill stream=x\n"), Contains("'x' is no number"));
  CHECK_THROWS_WITH(parse_round("places cpu_sim:0\n9 fill stream=1\n"), Contains("no such thread"));
  CHECK_THROWS_WITH(parse_round("ending early\n"), Contains("orderly, busy or abrupt"));
  CHECK_THROWS_WITH(parse_round("threads 0\n"), Contains("1 to 64"));
  CHECK_THROWS_WITH(parse_round("seed 1\n"), Contains("places"));
}

TEST_CASE("Shrinking leaves the operations that show it, and what they need") {
  const Round round = make_round(3, {"cpu_sim:0"}, device(), {});
  // Every other time, as a race would show.
  int runs = 0;
  const auto run = [&](const Plan& plan) {
    bool pool = false, shown = false;
    for (const Operation& operation : plan.round.operations) {
      pool = pool || operation.kind == Kind::make_pool;
      shown = shown || (pool && operation.kind == Kind::end_buffer);
    }
    return Outcome{shown && ++runs % 2 == 0 ? "bytes" : "", ""};
  };
  Round with_both = round;
  with_both.operations.insert(with_both.operations.begin(), {Kind::make_pool, 0});
  with_both.operations.push_back({.kind = Kind::make_buffer, .buffer = 900, .pool = -1, .bytes = bytes});
  with_both.operations.push_back(end_buffer(900));
  const Shrunk shrunk =
      shrink(with_both, {"bytes", ""}, device(), run, std::chrono::steady_clock::now() + std::chrono::hours(1));
  REQUIRE(shrunk.round.operations.size() == 3);  // a pool; a buffer, and its end
  CHECK(shrunk.round.settings.empty());
  CHECK(shrunk.round.ending == Ending::orderly);
  CHECK(shrunk.outcome.finding == "bytes");
}

}  // namespace model_test
