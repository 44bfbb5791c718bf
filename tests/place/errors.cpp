// SPDX-License-Identifier: Apache-2.0
// Errors: the one line of what(), the names of codes, and the handler.
#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <string>

#include "anyplace/anyplace.h"
#include "loader/files.h"

namespace errors_cases {

using anyplace::Error;
using anyplace::ErrorCode;
using anyplace::ErrorDetails;
using Catch::Contains;

TEST_CASE("what holds everything that is known in one line") {
  ErrorDetails details;
  details.code = ErrorCode::device_lost;
  details.place = "cuda:0";
  details.operation = "Stream::synchronize";
  details.text = "first line\nsecond";
  details.vendor_code = 700;
  details.vendor_name = "CUDA_ERROR_ILLEGAL_ADDRESS";
  details.vendor_text = "an illegal address";
  const Error error(details);
  CHECK(error.what() == std::string("cuda:0: Stream::synchronize: device_lost: first line\\nsecond "
                                    "(CUDA_ERROR_ILLEGAL_ADDRESS 700: an illegal address)"));
  CHECK(error.text() == "first line\nsecond");
  CHECK(error.vendor_code() == 700);
}

TEST_CASE("what leaves out what is not known") {
  ErrorDetails details;
  details.code = ErrorCode::timeout;
  CHECK(Error(details).what() == std::string("timeout"));
}

TEST_CASE("An out_of_memory shows its figures and says which are unknown") {
  ErrorDetails details;
  details.code = ErrorCode::out_of_memory;
  details.memory = anyplace::MemoryFigures{100, 50, 1, 2, std::nullopt};
  const Error error(details);
  CHECK_THAT(error.what(), Contains("requested 100") && Contains("free 50") && Contains("cached 1") &&
                               Contains("in use 2") && Contains("limit unknown"));
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == 100);
}

TEST_CASE("A text with a NUL doesn't cut what short") {
  ErrorDetails details;
  details.text = std::string("a\0b", 3);
  CHECK_THAT(Error(details).what(), Contains("a\\x00b"));
}

TEST_CASE("A text of a mebibyte is shown in part") {
  ErrorDetails details;
  details.text = std::string(1 << 20, 'x');
  CHECK(std::strlen(Error(details).what()) < 100'000);
}

TEST_CASE("Copies of an error share its details") {
  const Error error = anyplace_test::device_error("cpu_sim:9");
  const Error copy = error;
  CHECK(&copy.text() == &error.text());
  CHECK(copy.what() == std::string(error.what()));
}

TEST_CASE("An error names its place once") {
  const auto times = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
    return count;
  };
  anyplace_test::search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus");
  for (const char* const place : {"cpu_sim:9", "cpu_sin:3", "cpu_sim:pci=0000:99:00.0", "plus:uuid=PLUS-2"}) {
    const std::string what = anyplace_test::device_error(place).what();
    CAPTURE(what);
    CHECK(times(what, place) == 1);
  }
  const std::string what = anyplace_test::error_of([] { const anyplace::Place bad("cuda:-7"); }).what();
  CAPTURE(what);
  CHECK(times(what, "cuda:-7") == 1);
}

TEST_CASE("Every code has a name of its own") {
  std::set<std::string> names;
  int codes = 0;
#define ANYPLACE_CHECK_CODE(upper, lower, number, text)                 \
  CHECK(anyplace::to_string(ErrorCode::lower) == std::string(#lower));  \
  CHECK(static_cast<int>(ErrorCode::lower) == ANYPLACE_STATUS_##upper); \
  names.insert(anyplace::to_string(ErrorCode::lower));                  \
  ++codes;
  ANYPLACE_STATUS_LIST(ANYPLACE_CHECK_CODE)
#undef ANYPLACE_CHECK_CODE
  CHECK(names.size() == static_cast<std::size_t>(codes));
  CHECK(anyplace::to_string(static_cast<ErrorCode>(4711)) == std::string("unknown"));
}

TEST_CASE("Setting a handler gives back the one before") {
  int calls = 0;
  CHECK_FALSE(anyplace::set_error_handler([&](const Error&) { ++calls; }));
  const anyplace::ErrorHandler before = anyplace::set_error_handler({});
  REQUIRE(before);
  before(Error(ErrorDetails{}));
  CHECK(calls == 1);
  CHECK_FALSE(anyplace::set_error_handler({}));
}

TEST_CASE("What a backend says in a failing call is in the error") {
  const anyplace_test::Folder folder;
  anyplace_test::add_mimic(folder, "odd", "strange");
  anyplace_test::search_in(folder.path());
  const anyplace::Stream stream(anyplace::Device("odd:0"));
  const Error error = anyplace_test::error_of([&] { (void)stream.query(); });
  CHECK(error.code() == ErrorCode::backend_failed);
  CHECK(error.place() == "odd:0");
  CHECK(error.vendor_code() == 35);
  CHECK(error.vendor_name() == "MIMIC_ERROR");
  CHECK(error.vendor_text() == "the vendor says no");
  CHECK_THAT(error.text(), Contains("4711"));
}

TEST_CASE("A device that is lost says so from every call and others go on") {
  const anyplace_test::Folder folder;
  anyplace_test::add_mimic(folder, "doomed", "lose");
  anyplace_test::search_in(folder.path());
  const anyplace::Stream stream(anyplace::Device("doomed:0"));
  CHECK(anyplace_test::error_of([&] { (void)stream.query(); }).code() == ErrorCode::device_lost);
  CHECK(anyplace_test::error_of([&] { stream.synchronize(); }).code() == ErrorCode::device_lost);
  CHECK(anyplace_test::error_of([&] { const anyplace::Event event(anyplace::Device("doomed:0")); }).code() ==
        ErrorCode::device_lost);
  anyplace::Stream other(anyplace::Device("cpu_sim:0"));
  other.synchronize();
}

TEST_CASE("The version is that of the headers") { CHECK(anyplace::version() == std::string(ANYPLACE_VERSION)); }

}  // namespace errors_cases
