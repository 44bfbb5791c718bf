// SPDX-License-Identifier: Apache-2.0
// Places as text: the grammar, the aliases, and what is reported about bad text. Nothing here loads a backend.
#include <set>

#include "case.h"

namespace anyplace::conformance::places_cases {
namespace {

struct GoodText {
  std::string label;
  std::string text;
  Place::Kind kind;
  std::string name;
  std::optional<int> index;
  std::string selector;
};

const std::string long_name(31, 'n');

const std::vector<GoodText> good_texts = {
    {"a name", "acme", Place::Kind::current, "acme", std::nullopt, ""},
    {"a name with digits and underscores", "a_1_b2", Place::Kind::current, "a_1_b2", std::nullopt, ""},
    {"a name of one letter", "z:3", Place::Kind::index, "z", 3, ""},
    {"a name of 31 characters", long_name + ":0", Place::Kind::index, long_name, 0, ""},
    {"the index 0", "acme:0", Place::Kind::index, "acme", 0, ""},
    {"an index of two digits", "acme:10", Place::Kind::index, "acme", 10, ""},
    {"the greatest index", "acme:2147483647", Place::Kind::index, "acme", 2147483647, ""},
    {"a uuid", "acme:uuid=GPU-0a1B", Place::Kind::uuid, "acme", std::nullopt, "GPU-0a1B"},
    {"a uuid of 63 characters", "acme:uuid=" + std::string(63, 'f'), Place::Kind::uuid, "acme", std::nullopt,
     std::string(63, 'f')},
    {"a pci address", "acme:pci=0000:17:00.0", Place::Kind::pci, "acme", std::nullopt, "0000:17:00.0"},
    {"a pci address with a domain of 8 digits", "acme:pci=0001fFfF:a7:1f.7", Place::Kind::pci, "acme", std::nullopt,
     "0001fFfF:a7:1f.7"},
    {"auto", "auto", Place::Kind::automatic, "auto", std::nullopt, ""},
};

ANYPLACE_CASES(good_texts, "places", "places.grammar", "{} is a place and prints back unchanged") {
  const Place place = CALL(Place(parameter.text));
  CHECK_EQUAL(place.to_string(), parameter.text);
  CHECK(place.kind() == parameter.kind);
  CHECK_EQUAL(place.name(), parameter.name);
  CHECK(place.index() == parameter.index);
  CHECK_EQUAL(place.selector(), parameter.selector);
  CHECK(CALL(Place(place.to_string())) == place);
}

ANYPLACE_CASE("places", "places.grammar", "a name and a number make the same place as their text") {
  CHECK(CALL(Place("acme", 3)) == Place("acme:3"));
  CHECK(CALL(Place("acme", 2147483647)) == Place("acme:2147483647"));
  CHECK_ERROR(invalid_argument, Place("acme", -1));
  CHECK_ERROR(invalid_argument, Place("Acme", 0));
  CHECK_ERROR(invalid_argument, Place("auto", 0));
}

ANYPLACE_CASE("places", "places.grammar", "places are equal when their text is") {
  CHECK(Place("acme:1") == Place(std::string("acme:1")));
  CHECK(!(Place("acme:1") == Place("acme:2")));
  CHECK(!(Place("acme") == Place("acme:0")));
  CHECK(!(Place("acme:uuid=a") == Place("acme:uuid=A")));
}

struct BadText {
  std::string label;
  std::string text;
  std::string shown;  ///< the part of the text that the error must show
  /// How many times the last character is repeated. The case adds them, so that the list stays small.
  std::size_t more = 0;
};

const std::vector<BadText> bad_texts = {
    {"the empty text", "", ""},
    {"a colon alone", ":", ":"},
    {"an index without a name", ":0", ":0"},
    {"a name with nothing after the colon", "cuda:", "cuda:"},
    {"a negative index", "cuda:-1", "cuda:-1"},
    {"an index with a plus sign", "cuda:+1", "cuda:+1"},
    {"an index of two zeros", "cuda:00", "cuda:00"},
    {"an index with a leading zero", "cuda:01", "cuda:01"},
    {"an index in hexadecimal", "cuda:0x1", "cuda:0x1"},
    {"an index with a fraction", "cuda:1.0", "cuda:1.0"},
    {"an index that is a word", "cuda:first", "cuda:first"},
    {"two indices", "cuda:1:2", "cuda:1:2"},
    {"an index one past int", "cuda:2147483648", "cuda:2147483648"},
    {"an index past 64 bits", "cuda:18446744073709551616", "cuda:18446744073709551616"},
    {"a name in capitals", "CUDA:0", "CUDA:0"},
    {"a name that begins with a digit", "9cuda", "9cuda"},
    {"a name that begins with an underscore", "_cuda", "_cuda"},
    {"a name with a hyphen", "cu-da:0", "cu-da:0"},
    {"a name with a slash", "../cuda", "../cuda"},
    {"a name of 32 characters", std::string(32, 'n'), "nnnn"},
    {"a leading space", " cuda", " cuda"},
    {"a trailing space", "cuda ", "cuda "},
    {"a space before the index", "cuda: 1", "cuda: 1"},
    {"a trailing line feed", "cuda:0\n", "cuda:0"},
    {"a NUL", std::string("cu\0da:0", 7), "cu"},
    {"a NUL after a good place", std::string("cuda:0\0", 7), "cuda:0"},
    {"UTF-8 in the name",
     "c\xc3\xbc"
     "da:0",
     "c"},
    {"a digit that is not ASCII", "cuda:\xd9\xa1", "cuda:"},
    {"bytes that are no UTF-8", "cuda:\xff\xfe", "cuda:"},
    {"a mebibyte of text", "x", "xxxx", (1 << 20) - 1},
    {"a mebibyte of digits", "cuda:1", "cuda:1111", (1 << 20) - 1},
    {"an empty uuid", "cuda:uuid=", "cuda:uuid="},
    {"a uuid with a space", "cuda:uuid=a b", "cuda:uuid=a b"},
    {"a uuid of 64 characters", "cuda:uuid=" + std::string(64, 'f'), "cuda:uuid="},
    {"an empty pci address", "cuda:pci=", "cuda:pci="},
    {"a pci address without a domain", "cuda:pci=17:00.0", "cuda:pci=17:00.0"},
    {"a pci address with letters past f", "cuda:pci=000g:17:00.0", "cuda:pci=000g:17:00.0"},
    {"a pci address with more after it", "cuda:pci=0000:17:00.00", "cuda:pci=0000:17:00.00"},
    {"a selector that there isn't", "cuda:name=x", "cuda:name=x"},
    {"auto with an index", "auto:0", "auto:0"},
};

ANYPLACE_CASES(bad_texts, "places", "places.bad_text", "{} is invalid_argument") {
  std::string given = parameter.text;
  if (parameter.more > 0) given.append(parameter.more, given.back());
  const Error error = CHECK_ERROR(invalid_argument, Place(std::string_view(given)));
  const std::string text = error.text();
  CHECK(text.find(parameter.shown) != std::string::npos);
  CHECK(text.find("INDEX") != std::string::npos);  // the error says what is allowed
  CHECK(text.size() < 2000);
  for (const char c : std::string(error.what())) CHECK(static_cast<unsigned char>(c) >= 0x20);
}

ANYPLACE_CASE("places", "places.bad_text", "the error of a misspelled name suggests the nearest one") {
  const Error error = CHECK_ERROR(invalid_argument, Place("Cpu_sim:0"));
  CHECK(error.text().find("cpu_sim") != std::string::npos);
}

ANYPLACE_CASE("places", "places.bad_text", "a null pointer is invalid_argument") {
  const char* const none = nullptr;
  CHECK_ERROR(invalid_argument, Place(none));
}

struct Alias {
  std::string label;
  std::string backend;
};

const std::vector<Alias> aliases = {{"gpu", "cuda"},     {"nvidia", "cuda"},   {"rocm", "hip"},          {"amd", "hip"},
                                    {"ze", "levelzero"}, {"xpu", "levelzero"}, {"custom_cpu", "cpu_sim"}};

ANYPLACE_CASES(aliases, "places", "places.aliases", "{} stands for its backend and keeps its spelling") {
  const Place place = CALL(Place(parameter.label + ":2"));
  CHECK_EQUAL(place.backend(), parameter.backend);
  CHECK_EQUAL(place.name(), parameter.label);
  CHECK_EQUAL(place.to_string(), parameter.label + ":2");
}

ANYPLACE_CASE("places", "places.aliases", "the table of aliases is the one that is promised") {
  std::set<std::pair<std::string, std::string>> table;
  for (const BackendAlias& alias : CALL(backend_aliases())) {
    table.insert({std::string(alias.alias), std::string(alias.backend)});
  }
  for (const Alias& alias : aliases) CHECK(table.count({alias.label, alias.backend}) == 1);
  CHECK_EQUAL(table.size(), aliases.size());
}

ANYPLACE_CASE("places", "places.aliases", "resolving an alias opens no plugin") {
  for (const Alias& alias : aliases) CHECK_EQUAL(Place(alias.label).backend(), alias.backend);
  for (const PluginCandidate& candidate : CALL(plugin_candidates())) {
    CHECK(candidate.state == PluginCandidate::State::unopened || candidate.state == PluginCandidate::State::shadowed);
  }
}

}  // namespace
}  // namespace anyplace::conformance::places_cases
