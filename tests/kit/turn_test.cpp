// SPDX-License-Identifier: Apache-2.0
// Four commits in a row do together what one does that does everything: support/turn.h, support/in_turn.
#include "support/turn.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <utility>

#include "support/environment.h"

namespace turn_test {

using test::Turn;

namespace {

Turn of_commit(unsigned number) { return test::turn_of(std::to_string(number % 4) + "/4"); }

/// What support/in_turn says and does with ANYPLACE_TURN as it is: its output, and its exit status.
std::pair<std::string, int> in_turn(const std::string& arguments) {
  FILE* const pipe = popen((ANYPLACE_IN_TURN " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string said;
  std::array<char, 256> chunk;
  while (std::fgets(chunk.data(), static_cast<int>(chunk.size()), pipe) != nullptr) said += chunk.data();
  const int status = pclose(pipe);
  return {said, WEXITSTATUS(status)};
}

}  // namespace

TEST_CASE("Four commits in a row do each item once, wherever they begin") {
  for (unsigned first = 0; first < 4; ++first) {
    for (std::size_t item = 0; item < 1000; ++item) {
      int done = 0;
      for (unsigned commit = first; commit < first + 4; ++commit) done += of_commit(commit).takes(item) ? 1 : 0;
      REQUIRE(done == 1);
    }
  }
}

TEST_CASE("The parts of four commits in a row are as many as there are items, and what takes() takes") {
  for (std::size_t items = 0; items < 20; ++items) {
    std::size_t sum = 0;
    for (unsigned commit = 7; commit < 11; ++commit) {
      const Turn turn = of_commit(commit);
      std::size_t taken = 0;
      for (std::size_t item = 0; item < items; ++item) taken += turn.takes(item) ? 1 : 0;
      CHECK(turn.part(items) == taken);
      sum += turn.part(items);
    }
    CHECK(sum == items);
    CHECK(Turn{}.part(items) == items);
  }
}

TEST_CASE("Without a turn everything is done") {
  for (const char* const text : {"", "all", "0/1"}) {
    const Turn turn = test::turn_of(text);
    CHECK(turn.is_all());
    CHECK(turn.text() == "all turns");
    for (std::size_t item = 0; item < 10; ++item) CHECK(turn.takes(item));
  }
  test::unset_env("ANYPLACE_TURN");
  CHECK(test::turn().is_all());
  test::set_env("ANYPLACE_TURN", "2/4");
  CHECK(test::turn().index == 2);
  CHECK(test::turn().text() == "turn 2 of 4");
}

TEST_CASE("A turn that is none is refused, and it is said what is right") {
  for (const char* const text : {"4/4", "-1/4", "1/5", "2/2", "1", "1/4 ", "one", "/", "01/4"}) {
    INFO(text);
    CHECK_THROWS_WITH(test::turn_of(text), Catch::Contains("'" + std::string(text) + "'") &&
                                               Catch::Contains("it can be 0/4, 1/4, 2/4 or 3/4"));
    test::set_env("ANYPLACE_TURN", text);
    const auto [said, status] = in_turn("0 echo done");
    CHECK_THAT(said, Catch::Contains("it can be 0/4, 1/4, 2/4 or 3/4") && !Catch::Contains("done"));
    CHECK(status == 2);
  }
}

TEST_CASE("A command runs in its own turn and where all is done, and is said to be skipped in the others") {
  for (const char* const turn : {"all", "", "0/1", "0/2", "1/2", "0/4", "1/4", "2/4", "3/4"}) {
    test::set_env("ANYPLACE_TURN", turn);
    for (unsigned mine = 0; mine < 4; ++mine) {
      INFO("ANYPLACE_TURN='" << turn << "', " << mine);
      const auto [said, status] = in_turn(std::to_string(mine) + " sh -c 'echo done; exit 7'");
      const Turn now = test::turn_of(turn);
      const bool runs = now.takes(mine);
      CHECK(status == (runs ? 7 : 0));
      CHECK((said.find("done") != std::string::npos) == runs);
      const std::string skipped =
          "ANYPLACE_TEST_SKIPPED: the turn of commits whose number leaves " + std::to_string(mine % now.of);
      CHECK((said.find(skipped) != std::string::npos) == !runs);
    }
  }
}

TEST_CASE("What has a round runs for one commit of sixteen, and in each of its turns where the round isn't known") {
  int runs = 0;
  for (unsigned commit = 0; commit < 16; ++commit) {
    test::set_env("ANYPLACE_TURN", std::to_string(commit % 4) + "/4");
    test::set_env("ANYPLACE_ROUND", std::to_string(commit / 4));
    const std::string said = in_turn("2.3 echo done").first;
    const bool has_run = said.find("done\n") != std::string::npos;
    CHECK(has_run == (said.find("ANYPLACE_TEST_SKIPPED") == std::string::npos));
    CHECK(has_run == (commit == 14));
    runs += in_turn("2 echo done").first.find("done\n") != std::string::npos ? 1 : 0;
  }
  CHECK(runs == 4);  // of what has no round
  test::set_env("ANYPLACE_TURN", "2/4");
  test::set_env("ANYPLACE_ROUND", "");
  CHECK_THAT(in_turn("2.3 echo done").first, Catch::Contains("done"));
  test::set_env("ANYPLACE_ROUND", "4");
  CHECK_THAT(in_turn("2.3 echo done").first, Catch::Contains("ANYPLACE_ROUND is '4'; it can be 0 to 3"));
}

}  // namespace turn_test
