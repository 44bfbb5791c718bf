// SPDX-License-Identifier: Apache-2.0
// Reading a pickle: what Python's pickle writes is read as it was, and nothing that a file holds is executed, believed
// beyond its end, or takes more memory than its size allows for.
#include "tools/pickle_reader.h"

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tools/input_file.h"
#include "tools/snapshot_trace.h"

namespace pickle_reader_test {

using anyplace::tool::InputError;
using anyplace::tool::Pickle;
using anyplace::tool::PickleError;
using anyplace::tool::PickleValue;
using anyplace::tool::Trace;
using anyplace::tool::trace_of_snapshot;
using Catch::Contains;
using namespace std::string_literals;
using Kind = PickleValue::Kind;

namespace {

std::string snapshot_file(int protocol) {
  const std::string path =
      std::string(ANYPLACE_SOURCE_ROOT) + "/tests/cli/data/snapshot-protocol-" + std::to_string(protocol) + ".pickle";
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What the file is refused with.
std::string refusal(const std::string& file) {
  try {
    const Pickle pickle(file);
  } catch (const PickleError& error) {
    return error.what();
  }
  FAIL("it was taken");
  return "";
}

/// The one object of a pickle of protocol 4 with these opcodes and a STOP.
PickleValue only(const std::string& opcodes) { return Pickle("\x80\x04" + opcodes + ".").root(); }

}  // namespace

TEST_CASE("A snapshot that Python's pickle wrote is read, whichever protocol it took") {
  for (const int protocol : {2, 3, 4, 5}) {
    CAPTURE(protocol);
    const Trace trace = trace_of_snapshot(snapshot_file(protocol), std::nullopt);
    CHECK(trace.events.size() == 6);
    CHECK(trace.streams == 2);
    CHECK(trace.peak_live_bytes == 20'300'700);
    CHECK(trace.left_out == 1);
    CHECK(trace.events[1].bytes == 300'000);
    CHECK(trace.events[1].stream == 1);
    CHECK_FALSE(trace.events[2].allocates);
  }
}

TEST_CASE("Values of a pickle are those that were written") {
  CHECK(only("N").kind == Kind::none);
  CHECK(only("\x88").content == 1);
  CHECK(only("\x89").kind == Kind::truth);
  CHECK(only("K\xff").content == 255);
  CHECK(only("M\xff\xff").content == 65535);
  const PickleValue negative = only("J\xfe\xff\xff\xff");
  CHECK((negative.negative && negative.content == 2));
  CHECK(only("\x8a\x00"s).content == 0);
  CHECK(only("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f").content == INT64_MAX);
  const PickleValue least = only("\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s);
  CHECK((least.negative && least.content == std::uint64_t{1} << 63));
  const PickleValue most = only("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"s);
  CHECK((!most.negative && most.content == UINT64_MAX));
  CHECK(only("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01"s).kind == Kind::too_large);
  CHECK(only("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff"s).kind == Kind::too_large);
  CHECK(only("\x8b\x01\x00\x00\x00\x2a"s).content == 42);

  const Pickle text(
      "\x80\x04\x8d\x03\x00\x00\x00\x00\x00\x00\x00"
      "abc."s);
  CHECK(text.text(text.root()) == "abc");
  const Pickle dict(
      "\x80\x04}(X\x01\x00\x00\x00"
      "aK\x01\x8c\x01"
      "bK\x02\x8c\x01"
      "aK\x03u."s);
  REQUIRE(dict.find(dict.root(), "a"));
  CHECK(dict.find(dict.root(), "a")->content == 3);  // the last one, as in Python
  CHECK_FALSE(dict.find(dict.root(), "c"));
}

TEST_CASE("The memo gives the same object again, also where numbers are left out") {
  const Pickle pickle(
      "\x80\x02](]q\x07h\x07K\x05"
      "e."s);
  const std::vector<PickleValue>& items = pickle.items(pickle.root());
  REQUIRE(items.size() == 3);
  CHECK(items[0].content == items[1].content);
  CHECK_THAT(refusal("\x80\x02h\x07."), Contains("object 7, which was never put"));
}

TEST_CASE("A list that holds itself is no snapshot, and harms nothing") {
  const std::string endless =
      "\x80\x04]\x94h\x00"
      "a."s;
  const Pickle pickle(endless);
  CHECK(pickle.items(pickle.root()).front().content == pickle.root().content);
  CHECK_THROWS_AS(trace_of_snapshot(endless, std::nullopt), InputError);
  // A snapshot whose device_traces are the snapshot's own list.
  CHECK_THROWS_AS(trace_of_snapshot("\x80\x04}\x8c\x0d"
                                    "device_traces]\x94h\x00"
                                    "as."s,
                                    std::nullopt),
                  InputError);
}

TEST_CASE("An opcode that would look up, make or call something is refused by its name and offset") {
  const std::vector<std::pair<std::string, std::string>> hostile{
      {"\x80\x02"
       "cos\nsystem\n(U\x09touch /tmptR."s,
       "GLOBAL at offset 2"},
      {"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."s, "STACK_GLOBAL at offset 14"},
      {"\x80\x04NNR."s, "REDUCE at offset 4"},
      {"\x80\x04NNb."s, "BUILD at offset 4"},
      {"\x80\x04(ios\nsystem\n."s, "INST at offset 3"},
      {"\x80\x04(No."s, "OBJ at offset 4"},
      {"\x80\x04NN\x81."s, "NEWOBJ at offset 4"},
      {"\x80\x04NNN\x92."s, "NEWOBJ_EX at offset 5"},
      {"\x80\x04P1\n."s, "PERSID at offset 2"},
      {"\x80\x04NQ."s, "BINPERSID at offset 3"},
      {"\x80\x04\x82\x01."s, "EXT1 at offset 2"},
      {"\x80\x04\x83\x01\x00."s, "EXT2 at offset 2"},
      {"\x80\x04\x84\x01\x00\x00\x00."s, "EXT4 at offset 2"},
      {"\x80\x05\x96\x00\x00\x00\x00\x00\x00\x00\x00."s, "BYTEARRAY8 at offset 2"},
      {"\x80\x05\x97."s, "NEXT_BUFFER at offset 2"},
      {"\x80\x04\x8f."s, "EMPTY_SET at offset 2"},
      {"\x80\x02I01\n."s, "INT at offset 2"},
  };
  for (const auto& [file, says] : hostile) {
    CAPTURE(says);
    CHECK_THAT(refusal(file), Contains("the opcode " + says) && Contains("isn't executed"));
  }
  CHECK_THAT(refusal("\x80\x04\x01."), Contains("no opcode 1 at offset 2"));
}

TEST_CASE("A length beyond the file's end is refused before anything is allocated for it") {
  for (const std::string& opcode :
       {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s, "\x8d\x00\x00\x00\x00\x00\x00\x00\x40"s, "X\xff\xff\xff\xff"s,
        "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"s, "B\xff\xff\xff\x7f"s, "\x8b\xff\xff\xff\xff"s, "T\xff\xff\xff\xff"s,
        "\x95\xff\xff\xff\xff\xff\xff\xff\xff"s, "\x8c\xff"s, "\x8a\xff"s}) {
    CHECK_THAT(refusal("\x80\x04" + opcode + "abc."), Contains("is cut off") && Contains("are left"));
  }
}

TEST_CASE("A file that is cut off anywhere is refused") {
  for (const int protocol : {2, 5}) {
    const std::string whole = snapshot_file(protocol);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      CAPTURE(protocol, length);
      CHECK_THROWS_AS(Pickle(whole.substr(0, length)), PickleError);
    }
  }
}

TEST_CASE("Opcodes that find nothing to work on are refused") {
  for (const std::string& opcodes :
       {"."s,     "NN."s,    "(."s,    "N(."s,    "e."s,      "]e."s,  "(e."s,       "](e"s + "(."s,
        "N(e."s,  "u."s,     "}(Nu."s, "Na."s,    "a."s,      "}Ns."s, "NNNs."s,     "t."s,
        "\x85."s, "N\x86."s, "\x94."s, "q\x00."s, "](\x94."s, "](a."s, "\x80\x04N."s}) {
    CAPTURE(opcodes);
    CHECK_THROWS_AS(Pickle("\x80\x04" + opcodes), PickleError);
  }
  for (const std::string& file : {""s, "\x80"s, "N."s, "(dp0\n."s, "{}"s}) CHECK_THROWS_AS(Pickle(file), PickleError);
  CHECK_THAT(refusal("\x80\x01N."), Contains("protocol 1"));
  CHECK_THAT(refusal("\x80\x06N."), Contains("protocol 6"));
}

TEST_CASE("Damaged bytes are refused or give another trace, and nothing worse") {
  std::mt19937 random(20260101);  // the same in every run
  const std::array<std::string, 2> whole{snapshot_file(2), snapshot_file(4)};
  std::size_t refused = 0;
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    std::string damaged = whole[static_cast<std::size_t>(round) % whole.size()];
    for (unsigned i = 0; i <= random() % 4; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      static_cast<void>(trace_of_snapshot(std::move(damaged), std::nullopt));
    } catch (const PickleError&) {
      ++refused;
    } catch (const InputError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(refused < rounds);
}

}  // namespace pickle_reader_test
