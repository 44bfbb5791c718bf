// SPDX-License-Identifier: Apache-2.0
// What a device string may be, and that it comes back as it was written.
#include <catch2/catch.hpp>
#include <climits>
#include <string>

#include "anyplace/error.h"
#include "anyplace/place.h"
#include "anyplace/plugins.h"

namespace grammar_cases {

using anyplace::Place;
using Kind = anyplace::Place::Kind;

TEST_CASE("A name with an index is that device of that backend") {
  const Place place("cuda:12");
  CHECK(place.kind() == Kind::index);
  CHECK(place.name() == "cuda");
  CHECK(place.backend() == "cuda");
  CHECK(place.index() == 12);
  CHECK(place.selector().empty());
}

TEST_CASE("A name alone is the current device of that backend") {
  const Place place("levelzero");
  CHECK(place.kind() == Kind::current);
  CHECK(place.name() == "levelzero");
  CHECK_FALSE(place.index().has_value());
}

TEST_CASE("auto is its own kind of place") {
  const Place place("auto");
  CHECK(place.kind() == Kind::automatic);
  CHECK(place.backend() == "auto");
  CHECK(Place("automatic").kind() == Kind::current);
}

TEST_CASE("An index goes from 0 to the greatest int") {
  CHECK(Place("hip:0").index() == 0);
  CHECK(Place("hip:2147483647").index() == INT_MAX);
}

TEST_CASE("A name has small letters digits and underscores after a small letter and at most 31 characters") {
  CHECK(Place("a").name() == "a");
  CHECK(Place("a_9b__:1").name() == "a_9b__");
  const std::string longest(31, 'z');
  CHECK(Place(longest + ":0").name() == longest);
}

TEST_CASE("A uuid selects a device") {
  const Place place("cuda:uuid=GPU-8f6c1D2e-0000-1111-2222-333344445555");
  CHECK(place.kind() == Kind::uuid);
  CHECK(place.selector() == "GPU-8f6c1D2e-0000-1111-2222-333344445555");
  CHECK_FALSE(place.index().has_value());
  CHECK(Place("cuda:uuid=" + std::string(63, 'A')).selector().size() == 63);
}

TEST_CASE("A pci address selects a device") {
  CHECK(Place("cuda:pci=0000:17:00.0").selector() == "0000:17:00.0");
  CHECK(Place("cuda:pci=0000:17:00.0").kind() == Kind::pci);
  CHECK(Place("cuda:pci=00010000:aB:1F.7").selector() == "00010000:aB:1F.7");
}

TEST_CASE("Every place prints as the text it was made of") {
  for (const char* const text : {"cuda", "cuda:0", "gpu:1", "nvidia", "custom_cpu:2147483647", "auto",
                                 "cuda:uuid=GPU-aB-01", "hip:pci=0000:0a:0B.1", "cuda:pci=00000000:17:00.0"}) {
    CAPTURE(text);
    CHECK(Place(text).to_string() == text);
    CHECK(Place(Place(text).to_string()) == Place(text));
  }
}

TEST_CASE("Places are equal when their texts are") {
  CHECK(Place("cuda:0") == Place("cuda", 0));
  CHECK_FALSE(Place("gpu:0") == Place("cuda:0"));
  CHECK_FALSE(Place("cuda") == Place("cuda:0"));
}

TEST_CASE("Aliases stand for their backends and are printed as written") {
  const std::pair<const char*, const char*> table[] = {
      {"gpu", "cuda"},     {"nvidia", "cuda"},   {"rocm", "hip"},          {"amd", "hip"},
      {"ze", "levelzero"}, {"xpu", "levelzero"}, {"custom_cpu", "cpu_sim"}};
  for (const auto& [alias, backend] : table) {
    CAPTURE(alias);
    CHECK(Place(alias).backend() == backend);
    CHECK(Place(alias).name() == alias);
    CHECK(Place(alias, 3).to_string() == std::string(alias) + ":3");
  }
  const auto listed = anyplace::backend_aliases();
  REQUIRE(listed.size() == std::size(table));
  for (const auto& [alias, backend] : listed) CHECK(Place(alias).backend() == backend);
}

TEST_CASE("A name and a number make a place") {
  CHECK(Place("cuda", 7).to_string() == "cuda:7");
  CHECK(Place("cuda", 7).kind() == Kind::index);
  CHECK_THROWS_AS(Place("cuda", -1), anyplace::Error);
  CHECK_THROWS_AS(Place("auto", 0), anyplace::Error);
  CHECK_THROWS_AS(Place("cuda:0", 0), anyplace::Error);
  CHECK_THROWS_AS(Place("", 0), anyplace::Error);
}

TEST_CASE("A place that was copied or moved is the same place") {
  Place first("cuda:uuid=A-1");
  const Place copy = first;
  const Place moved = std::move(first);
  CHECK(copy == moved);
}

}  // namespace grammar_cases
