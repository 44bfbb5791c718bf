// SPDX-License-Identifier: Apache-2.0
//
// A graph's host functions: the vendor may come with each again and again, and with none behind the end.
#include <anyplace/backend/kit/graph_host_calls.h>

#include <catch2/catch.hpp>
#include <future>
#include <thread>
#include <vector>

namespace graph_host_calls_test {

namespace {

using anyplace::backend::Failure;
using anyplace::backend::GraphHostCalls;

void count(void* user, anyplace_status status) {
  if (status == ANYPLACE_STATUS_OK) ++*static_cast<int*>(user);
}

/// Says that it began, and goes on when it is let.
struct Slow {
  std::promise<void> begun, let;
  bool over = false;

  static void call(void* user, anyplace_status) {
    auto& of = *static_cast<Slow*>(user);
    of.begun.set_value();
    of.let.get_future().wait();
    of.over = true;
  }
};

}  // namespace

TEST_CASE("A host function of a graph can be called any number of times") {
  auto* const calls = new GraphHostCalls;
  int first = 0, second = 0;
  void* const one = calls->get(count, &first, 2);
  void* const other = calls->get(count, &second, 2);
  CHECK(calls->get(count, &first, 2) == one);
  CHECK(one != other);
  for (int i = 0; i < 3; ++i) GraphHostCalls::run(one);
  GraphHostCalls::run(other);
  CHECK(first == 3);
  CHECK(second == 1);
  GraphHostCalls::end(calls, false);
}

TEST_CASE("Behind the end a call that the vendor still comes with does nothing") {
  auto* const calls = new GraphHostCalls;
  int made = 0;
  void* const call = calls->get(count, &made, 1);
  GraphHostCalls::end(calls, true);
  GraphHostCalls::run(call);
  CHECK(made == 0);
}

TEST_CASE("The end waits for what is being called") {
  auto* const calls = new GraphHostCalls;
  Slow slow;
  void* const call = calls->get(Slow::call, &slow, 1);
  std::thread vendor([call] { GraphHostCalls::run(call); });
  slow.begun.get_future().wait();
  bool over_at_end = false;
  std::thread ends([&] {
    GraphHostCalls::end(calls, true);
    over_at_end = slow.over;
  });
  slow.let.set_value();
  ends.join();
  vendor.join();
  CHECK(over_at_end);
}

TEST_CASE("Only so many host functions that are no more in use are kept") {
  auto* const calls = new GraphHostCalls;
  std::vector<int> made(5000);
  std::size_t kept = 0;
  const auto fill = [&](std::size_t in_use) {
    for (; kept < made.size(); ++kept) calls->get(count, &made[kept], in_use);
  };
  CHECK_THROWS_AS(fill(1), Failure);
  CHECK(kept > 1000);
  const std::size_t with_one = kept;
  CHECK_THROWS_AS(fill(501), Failure);
  CHECK(kept == with_one + 500);
  calls->get(count, &made[0], 1);  // it is there
  GraphHostCalls::end(calls, false);
}

}  // namespace graph_host_calls_test
