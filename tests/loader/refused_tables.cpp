// SPDX-License-Identifier: Apache-2.0
// Plugins whose entry fails, lies or leaves something out: none of it is believed, and the reason says what it was.
#include <catch2/catch.hpp>
#include <string>

#include "anyplace/anyplace.h"
#include "anyplace/backend/entries.h"
#include "loader/files.h"

namespace refused_tables_cases {

using anyplace::Capability;
using anyplace::ErrorCode;
using anyplace_test::device_error;
using anyplace_test::Folder;
using anyplace_test::search_in;
using Catch::Contains;

namespace {

/// Loads a mimic that behaves so; gives what is known of it afterwards.
anyplace::PluginCandidate refused(const Folder& folder, const std::string& name, const std::string& behaviour) {
  anyplace_test::add_mimic(folder, name, behaviour);
  search_in(folder.path());
  const anyplace::Error error = device_error(name + ":0");
  CHECK(error.code() == ErrorCode::no_such_backend);
  const auto candidate = anyplace_test::candidate_at(folder.plugin(name));
  REQUIRE(candidate.has_value());
  CHECK(candidate->state == anyplace::PluginCandidate::State::refused);
  CHECK_THAT(error.text(), Contains(candidate->reason));
  return *candidate;
}

/// The reason alone, of a plugin that is itself at fault.
std::string reason(const std::string& behaviour) {
  const Folder folder;
  const anyplace::PluginCandidate candidate = refused(folder, "bad", behaviour);
  CHECK(candidate.code == ErrorCode::plugin_refused);
  return candidate.reason;
}

struct Entry {
  const char* name;
  int presence;
  std::uint64_t capabilities;
};
#define ENTRY(entry, presence, capabilities) {#entry, ANYPLACE_ENTRY_##presence, capabilities},
constexpr Entry entries[] = {ANYPLACE_ENTRY_LIST(ENTRY)};
#undef ENTRY

/// The first entry of that capability but `name`, with that presence or, if it is 0, with any; null if there is none.
const Entry* first_of(std::uint64_t capability, int presence, const std::string& name) {
  for (const Entry& entry : entries) {
    if ((entry.capabilities & capability) == 0 || name == entry.name) continue;
    if (presence == 0 || entry.presence == presence) return &entry;
  }
  return nullptr;
}

std::string reason_of_plus(const std::string& thrown, ErrorCode code) {
  anyplace_test::set_variable("PLUS_THROWS", thrown);
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus");
  CHECK(device_error("plus:0").code() == ErrorCode::no_such_backend);
  const auto candidate = anyplace_test::candidate_at(anyplace_test::built_plugin("plus"));
  REQUIRE(candidate.has_value());
  CHECK(candidate->code == code);
  return candidate->reason;
}

}  // namespace

TEST_CASE("A plugin of the next major is refused with both versions") {
  const auto version = [](unsigned major) { return std::to_string(major) + "." + std::to_string(ANYPLACE_ABI_MINOR); };
  CHECK_THAT(reason("major"), Contains("ABI " + version(2)) && Contains("has " + version(1)) &&
                                  Contains("another version than anyplace " ANYPLACE_VERSION) &&
                                  Contains(anyplace_test::plugin_folder()));
}

TEST_CASE("A table of size 0 is refused") { CHECK_THAT(reason("size=0"), Contains("filled 0 bytes")); }

TEST_CASE("A table of the greatest size is refused") {
  CHECK_THAT(reason("size=4294967295"), Contains("filled 4294967295 bytes"));
}

TEST_CASE("A table shorter than version 1.0 is refused") {
  CHECK_THAT(reason("size=" + std::to_string(sizeof(anyplace_backend_table) - 1)), Contains("at least"));
}

TEST_CASE("A table longer than what was given is refused") {
  CHECK_THAT(reason("size=" + std::to_string(sizeof(anyplace_backend_table) + 1)), Contains("it was given"));
}

TEST_CASE("A plugin that writes past the table is refused") { CHECK_THAT(reason("overrun"), Contains("past the end")); }

TEST_CASE("A plugin that calls itself otherwise than its file is refused") {
  CHECK_THAT(reason("name=good"), Contains("\"good\"") && Contains("\"bad\""));
}

TEST_CASE("A name without an end is refused") { CHECK_THAT(reason("long_name"), Contains("NUL")); }

TEST_CASE("A table that lacks a required entry is refused with the name of the entry") {
  const Folder folder;
  int count = 0;
  for (const Entry& entry : entries) {
    if (entry.presence != ANYPLACE_ENTRY_REQUIRED) continue;
    CAPTURE(entry.name);
    const auto candidate = refused(folder, "lacks" + std::to_string(count++), std::string("without=") + entry.name);
    CHECK(candidate.code == ErrorCode::plugin_refused);
    CHECK_THAT(candidate.reason, Contains(entry.name));
  }
  CHECK(count == 19);
}

TEST_CASE("A table with half of a group of entries is refused with the names of the halves") {
  const Folder folder;
  int count = 0;
  for (const Entry& there : entries) {
    if (there.presence != ANYPLACE_ENTRY_TOGETHER) continue;
    CAPTURE(there.name);
    const Entry* const missing = first_of(there.capabilities, ANYPLACE_ENTRY_TOGETHER, there.name);
    REQUIRE(missing != nullptr);
    const auto candidate = refused(folder, "half" + std::to_string(count++), std::string("half=") + there.name);
    CHECK_THAT(candidate.reason, Contains(std::string("entry ") + there.name + " without " + missing->name));
  }
  CHECK(count >= 23);
}

TEST_CASE("A device count of minus 1 is refused") { CHECK_THAT(reason("count=-1"), Contains("-1 devices")); }

TEST_CASE("The greatest device count that there is is refused") {
  CHECK_THAT(reason("count=2147483647"), Contains("2147483647 devices"));
}

TEST_CASE("One device more than the limit is refused") { CHECK_THAT(reason("count=4097"), Contains("4097 devices")); }

TEST_CASE("What the entry says of a failure is the reason") {
  const Folder folder;
  const auto candidate = refused(folder, "bad", "status=" + std::to_string(ANYPLACE_STATUS_NO_DRIVER));
  CHECK(candidate.code == ErrorCode::no_driver);
  CHECK_THAT(candidate.reason, Contains("driver") && Contains("the vendor says no") && Contains("MIMIC_ERROR 35"));
}

TEST_CASE("What device_count says of a failure is the reason") {
  const Folder folder;
  const auto candidate = refused(folder, "bad", "count_status=" + std::to_string(ANYPLACE_STATUS_LIBRARY_MISSING));
  CHECK(candidate.code == ErrorCode::library_missing);
  CHECK_THAT(candidate.reason, Contains("the vendor says no"));
}

TEST_CASE("A status of the entry that is not in the table is a failure of the backend") {
  const Folder folder;
  const auto candidate = refused(folder, "bad", "status=4711");
  CHECK(candidate.code == ErrorCode::backend_failed);
  CHECK_THAT(candidate.reason, Contains("4711"));
}

TEST_CASE("A negative status of the entry is a failure of the backend") {
  const Folder folder;
  const auto candidate = refused(folder, "bad", "status=-1");
  CHECK(candidate.code == ErrorCode::backend_failed);
  CHECK_THAT(candidate.reason, Contains("-1"));
}

TEST_CASE("A constructor that throws an exception refuses its plugin with the text") {
  CHECK_THAT(reason_of_plus("exception", ErrorCode::backend_failed), Contains("no heart for it"));
}

TEST_CASE("A constructor that throws something else refuses its plugin") {
  CHECK_THAT(reason_of_plus("number", ErrorCode::backend_failed), Contains("no std::exception"));
}

TEST_CASE("A constructor that throws a Failure refuses its plugin with status text and vendor code") {
  CHECK_THAT(reason_of_plus("failure", ErrorCode::library_missing),
             Contains("libplus.so.1 is not installed") && Contains("PLUS_MISSING 7"));
}

TEST_CASE("An entry that asks for its own backend is told no and doesn't hang") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/caller");
  CHECK_THAT(device_error("caller:0").text(), Contains("the entry was told not_permitted"));
}

TEST_CASE("A capability without its entries is refused when the properties are read") {
  const Folder folder;
  search_in(folder.path());
  int count = 0;
  for (const Capability capability : anyplace::all_capabilities()) {
    const std::uint64_t claim = std::uint64_t{1} << static_cast<unsigned>(capability);
    const Entry* const missing = first_of(claim, 0, "");
    if (missing == nullptr) continue;
    CAPTURE(missing->name);
    const std::string name = "claims" + std::to_string(count++);
    anyplace_test::add_mimic(folder, name, "claims=" + std::to_string(claim));
    const anyplace::Device device(name);
    const anyplace::Error error = anyplace_test::error_of([&] { device.properties(); });
    CHECK(error.code() == ErrorCode::plugin_refused);
    CHECK(error.place() == name + ":0");
    CHECK_THAT(error.text(), Contains(to_string(capability)) && Contains(missing->name));
    // Asked again, it says so again.
    CHECK(anyplace_test::error_of([&] { device.properties(); }).text() == error.text());
  }
  CHECK(count >= 14);
}

}  // namespace refused_tables_cases
