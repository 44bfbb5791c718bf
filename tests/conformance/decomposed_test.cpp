// SPDX-License-Identifier: Apache-2.0
// A check of the suite that fails shows what was compared: conformance/decomposed.h, without the suite around it.
#include "conformance/decomposed.h"

#include <catch2/catch.hpp>
#include <string>

namespace anyplace::conformance {

template <class T>
std::string shown(const T& value) {
  return std::to_string(value);
}

void check_failed(const char* file, int line, const std::string& text) {
  throw file + (":" + std::to_string(line) + ": ") + text;
}

}  // namespace anyplace::conformance

namespace decomposed_test {

using anyplace::conformance::Decompose;

namespace {

/// What the report says of it; "" if the check holds.
template <class T>
std::string said(const T& result) {
  try {
    anyplace::conformance::check_that(result, "case.cpp", 7, "bytes >= large");
  } catch (const std::string& text) {
    return text;
  }
  return "";
}

}  // namespace

TEST_CASE("A comparison that doesn't hold is reported with both sides") {
  const int bytes = 1024;
  CHECK(said(Decompose() <= bytes >= 4096) == "case.cpp:7: bytes >= large is false: 1024 >= 4096");
  CHECK(said(Decompose() <= bytes == 1) == "case.cpp:7: bytes >= large is false: 1024 == 1");
  CHECK(said(Decompose() <= bytes + 1 < 2u) == "case.cpp:7: bytes >= large is false: 1025 < 2");
}

TEST_CASE("A comparison that holds is reported with nothing") {
  const int bytes = 1024;
  CHECK(said(Decompose() <= bytes <= 1024) == "");
  CHECK(said(Decompose() <= bytes != 1) == "");
  CHECK(said(Decompose() <= true) == "");
}

TEST_CASE("What is no comparison is reported by its text alone") {
  const int bytes = 1024;
  CHECK(said(Decompose() <= false) == "case.cpp:7: bytes >= large is false");
  const bool both = Decompose() <= bytes == 1024 && bytes == 1;
  CHECK(said(both) == "case.cpp:7: bytes >= large is false");
}

}  // namespace decomposed_test
