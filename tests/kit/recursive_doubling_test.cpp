// SPDX-License-Identifier: Apache-2.0
// The steps of recursive doubling, done by ranks that are strings: a sum is what was added, in its order.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "anyplace/backend/kit/recursive_doubling.h"

namespace recursive_doubling_test {

using anyplace::backend::recursive_doubling;
using anyplace::backend::RecursiveDoublingStep;

namespace {

struct Rank {
  std::vector<RecursiveDoublingStep> steps;
  std::size_t next = 0;
  std::string value;

  bool is_done() const { return next == steps.size(); }
};

bool sends_to(const Rank& rank, int peer) { return !rank.is_done() && rank.steps[rank.next].send_to == peer; }
bool receives_from(const Rank& rank, int peer) { return !rank.is_done() && rank.steps[rank.next].receive_from == peer; }

/// Does the next step of the rank if its partners have come to theirs, together with a partner that exchanges with it.
bool advance(std::vector<Rank>& ranks, int own) {
  Rank& rank = ranks[static_cast<std::size_t>(own)];
  if (rank.is_done()) return false;
  const RecursiveDoublingStep step = rank.steps[rank.next];
  const auto do_step = [](Rank& of, const std::string& received) {
    const RecursiveDoublingStep& done = of.steps[of.next++];
    if (done.receive_from < 0) return;
    of.value = !done.reduces ? received : done.comes_first ? received + of.value : of.value + received;
  };
  const int other = step.send_to >= 0 ? step.send_to : step.receive_from;
  Rank& peer = ranks[static_cast<std::size_t>(other)];
  if (step.send_to >= 0 && !receives_from(peer, own)) return false;
  if (step.receive_from >= 0 && !sends_to(peer, own)) return false;
  const std::string sent = rank.value, received = peer.value;
  do_step(rank, received);
  do_step(peer, sent);
  return true;
}

}  // namespace

TEST_CASE("By recursive doubling all ranks get the same sum, in which each is once, whatever their number") {
  for (int size = 1; size <= 70; ++size) {
    CAPTURE(size);
    std::vector<Rank> ranks;
    std::string all;
    for (int rank = 0; rank < size; ++rank) {
      ranks.push_back({recursive_doubling(rank, size), 0, std::string(1, static_cast<char>('0' + rank))});
      all += ranks.back().value;
    }
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (int rank = 0; rank < size; ++rank) goes_on = advance(ranks, rank) || goes_on;
    }
    for (const Rank& rank : ranks) {
      CHECK(rank.is_done());
      CHECK(rank.value == all);  // the lower ranks come first
    }
  }
}

}  // namespace recursive_doubling_test
