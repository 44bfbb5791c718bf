// SPDX-License-Identifier: Apache-2.0
// What an operation with more elements than an engine counts is cut into. That this comes to the same is
// mpi_test.cpp's.
#include "mpi/pieces.h"

#include <catch2/catch.hpp>

namespace pieces_test {

using anyplace::mpi::fits;
using anyplace::mpi::in_pieces;
using Part = anyplace_engine_part;

TEST_CASE("Given as many elements as the engine counts then nothing is cut, and given one more it is") {
  const std::uint64_t most = std::uint64_t{1} << 30;
  const auto part = [](std::uint32_t what, std::uint64_t count) {
    return Part{what, ANYPLACE_DTYPE_U8, ANYPLACE_REDUCTION_SUM, 0, count, 64, 128};
  };
  CHECK(fits(part(ANYPLACE_COLLECTIVE_BROADCAST, most), most, 4));
  CHECK_FALSE(fits(part(ANYPLACE_COLLECTIVE_BROADCAST, most + 1), most, 4));
  for (const auto what :
       {ANYPLACE_COLLECTIVE_ALL_GATHER, ANYPLACE_COLLECTIVE_REDUCE_SCATTER, ANYPLACE_COLLECTIVE_ALL_TO_ALL}) {
    CHECK(fits(part(what, most / 4), most, 4));
    CHECK_FALSE(fits(part(what, most / 4 + 1), most, 4));
  }
  const std::vector<Part> two = in_pieces(part(ANYPLACE_COLLECTIVE_BROADCAST, most + 1), most, 1, 4);
  REQUIRE(two.size() == 2);
  CHECK(two[0].count == most);
  CHECK(two[1].count == 1);
  CHECK(two[1].source == 128 + most);
  CHECK(two[1].destination == 64 + most);
}

TEST_CASE("Given an operation of all ranks then its pieces are between each two, or to each") {
  const Part scattered{
      ANYPLACE_COLLECTIVE_REDUCE_SCATTER, ANYPLACE_DTYPE_F32, ANYPLACE_REDUCTION_AVG, 0, 10, 1000, 5000};
  const std::vector<Part> reductions = in_pieces(scattered, 6, 1, 3);
  REQUIRE(reductions.size() == 6);
  for (const Part& each : reductions) {
    CHECK(each.collective == ANYPLACE_COLLECTIVE_REDUCE);
    CHECK(each.reduction == ANYPLACE_REDUCTION_AVG);
    CHECK((each.destination != 0) == (each.root == 1));  // the others receive nothing
  }
  CHECK(reductions[3].source == 5000 + 40 + 24);
  CHECK(reductions[3].destination == 1000 + 24);

  const Part gathered{ANYPLACE_COLLECTIVE_ALL_GATHER, ANYPLACE_DTYPE_F32, ANYPLACE_REDUCTION_SUM, 0, 10, 1000, 5000};
  CHECK(in_pieces(gathered, 10, 1, 3).size() == 6);  // its own, too
  Part in_place = gathered;
  in_place.source = 1000 + 40;
  CHECK(in_pieces(in_place, 10, 1, 3).size() == 4);
}

}  // namespace pieces_test
