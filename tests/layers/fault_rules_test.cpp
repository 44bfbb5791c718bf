// SPDX-License-Identifier: Apache-2.0
// The rules of `faults` as text: both forms, what is wrong with one and where; and which uses a rule hits.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rule_set.h"
#include "rule_text.h"
#include "support/environment.h"
#include "support/temp_dir.h"

namespace fault_rules_test {

using namespace anyplace::faults;
using Catch::Contains;

namespace {

/// What is said of a bad text.
std::string refused(const std::string& text) {
  try {
    read_rules(text, "TEXT");
  } catch (const anyplace::backend::Failure& failure) {
    CHECK(failure.status() == ANYPLACE_STATUS_INVALID_ARGUMENT);
    return failure.what();
  }
  FAIL("it was taken: " << text);
  return "";
}

std::shared_ptr<Rule> rule_of(const std::string& text) {
  const Rules rules = read_rules(text, "TEXT");
  REQUIRE(rules.size() == 1);
  return rules.front();
}

/// The uses of the first `count` that are hit.
std::vector<int> hits(Rule& rule, int count) {
  std::vector<int> numbers;
  for (int i = 1; i <= count; ++i) {
    if (rule.hit(0)) numbers.push_back(i);
  }
  return numbers;
}

Subject subject(std::int32_t device, std::optional<std::uint64_t> stream = {}, std::uint64_t id = 0) {
  return {"cuda", device, stream, id};
}

}  // namespace

TEST_CASE("No text has no rules") {
  CHECK(read_rules("", "TEXT").empty());
  CHECK(read_rules(" ; ;\n", "TEXT").empty());
  CHECK(read_rules("{\"rules\": []}", "TEXT").empty());
}

TEST_CASE("A rule in the short form has its settings") {
  const auto rule = rule_of("memory_copy=backend_failed place=cuda:3 stream=2 nth=7 after sticky delay=5ms");
  CHECK(rule->entries.count() == 1);
  CHECK(rule->entries.test(ANYPLACE_ENTRY_INDEX_memory_copy));
  CHECK(rule->status == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(rule->backend == "cuda");
  CHECK(rule->device == 3);
  CHECK(rule->stream == 2u);
  CHECK(rule->nth == 7);
  CHECK(rule->moment == Moment::after);
  CHECK(rule->repeat == Repeat::sticky);
  CHECK(rule->delay_ns == 5'000'000);
}

TEST_CASE("A rule in JSON is the same as in the short form") {
  const auto rule = rule_of(R"({"$schema": "faults.schema.json", "rules": [
    {"entry": "memory_copy", "status": "backend_failed", "place": "cuda:3", "stream": 2, "nth": 7,
     "moment": "after", "repeat": "sticky", "delay": "5ms"}]})");
  CHECK(rule->text == "memory_copy=backend_failed place=cuda:3 stream=2 nth=7 after sticky delay=5ms");
  CHECK(rule->nth == 7);
  CHECK(rule->stream == 2u);
  CHECK(rule->delay_ns == 5'000'000);
  CHECK(rule_of(R"({"rules": [{"entry": "*", "status": "internal", "probability": 0.25, "seed": 3}]})")->probability ==
        0.25);
}

TEST_CASE("A pattern is for all entries that it fits") {
  const auto events = rule_of("event_*=internal");
  CHECK(events->entries.test(ANYPLACE_ENTRY_INDEX_event_record));
  CHECK(events->entries.test(ANYPLACE_ENTRY_INDEX_event_destroy));
  CHECK_FALSE(events->entries.test(ANYPLACE_ENTRY_INDEX_stream_wait_event));
  CHECK(rule_of("*_event=internal")->entries.test(ANYPLACE_ENTRY_INDEX_stream_wait_event));
  CHECK(rule_of("*=internal")->entries.test(ANYPLACE_ENTRY_INDEX_device_sample));
}

TEST_CASE("A pattern leaves out the entries that don't suit the rule") {
  CHECK_FALSE(rule_of("*=internal")->entries.test(ANYPLACE_ENTRY_INDEX_shutdown));
  CHECK(rule_of("*=internal after")->entries.test(ANYPLACE_ENTRY_INDEX_shutdown));
  CHECK_FALSE(rule_of("*=internal")->entries.test(ANYPLACE_ENTRY_INDEX_device_count));
  CHECK_FALSE(rule_of("*=internal after")->entries.test(ANYPLACE_ENTRY_INDEX_stream_host_function));
  CHECK_FALSE(rule_of("memory_*=internal stream=1")->entries.test(ANYPLACE_ENTRY_INDEX_memory_allocate));
  CHECK(rule_of("memory_*=internal stream=1")->entries.test(ANYPLACE_ENTRY_INDEX_memory_copy));
}

TEST_CASE("What is wrong with a short form is said with its position") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"memory_alocate=internal", "TEXT, column 1: no entry is called \"memory_alocate\"\nentries that begin so are "},
      {"xyz=internal", "TEXT, column 1: no entry is called \"xyz\"\nentries are those of "},
      {"=internal", "TEXT, column 1: no entry stands before the '='"},
      {"memory_set=bad", "TEXT, column 12: there is no status \"bad\"\nstatuses are invalid_argument, "},
      {"memory_set=ok", "TEXT, column 12: ok is no failure"},
      {"memory_set=", "TEXT, column 12: there is no status \"\""},
      {"memory_set", "TEXT, column 1: the rule does nothing"},
      {"memory_set=internal twice", "TEXT, column 21: a rule has no word 'twice'"},
      {"memory_set=internal often=3", "TEXT, column 21: a rule has no key \"often\"\nkeys are entry, status, "},
      {"memory_set=internal nth=0", "TEXT, column 25: nth is \"0\"\nit has to be a whole number from 1"},
      {"memory_set=internal nth=1x", "TEXT, column 25: nth is \"1x\""},
      {"memory_set=internal nth=-1", "TEXT, column 25: nth is \"-1\""},
      {"memory_set=internal nth=", "TEXT, column 25: nth is \"\""},
      {"memory_set=internal nth=99999999999999999999", "TEXT, column 25: nth is "},
      {"memory_set=internal probability=2", "TEXT, column 33: probability is \"2\""},
      {"memory_set=internal probability=nan", "TEXT, column 33: probability is \"nan\""},
      {"memory_set=internal delay=5", "TEXT, column 27: the delay is \"5\""},
      {"memory_set=internal delay=0ms", "TEXT, column 27: the delay is \"0ms\""},
      {"memory_set=internal delay=9999999999s", "TEXT, column 27: the delay is "},
      {"memory_set=internal place=Cuda", "TEXT, column 27: the place is \"Cuda\""},
      {"memory_set=internal place=cuda:x", "TEXT, column 32: the index is \"x\""},
      {"memory_set=internal moment=later",
       "TEXT, column 28: moment is \"later\"\nit is one of before, after, in_stream"},
      {"event_query=internal; memory_set=bad", "TEXT, column 34: there is no status \"bad\""},
      {"event_query=internal;\n  memory_set=bad", "TEXT, line 2, column 14: there is no status \"bad\""},
  };
  for (const auto& [text, said] : cases) {
    INFO(text);
    CHECK_THAT(refused(text), Catch::StartsWith(said));
  }
}

TEST_CASE("What is wrong with JSON is said with its position") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"{", "TEXT, column "},
      {R"({"rules": [})", "TEXT, column 12: "},
      {R"({"rule": []})", "TEXT, column 2: there is no key \"rule\" here"},
      {R"({"rules": 3})", "TEXT, column 11: no such value can be here"},
      {R"({"rules": {}})", "TEXT, column 11: no object can be here"},
      {R"({"rules": [3]})", "TEXT, column 12: no such value can be here"},
      {R"({"rules": [[]]})", "TEXT, column 12: no array can be here"},
      {R"({"rules": [{}]})", "TEXT, column 12: the rule has no entry"},
      {R"({"rules": [{"entry": "memory_set", "status": "bad"}]})", "TEXT, column 47: there is no status \"bad\""},
      {R"({"rules": [{"entry": "memory_set", "often": 3}]})", "TEXT, column 36: a rule has no key \"often\""},
      {R"({"rules": [{"entry": "memory_set", "nth": "3"}]})", "TEXT, column 43: nth is a number, without quotes"},
      {R"({"rules": [{"entry": "memory_set", "nth": 3.5}]})", "TEXT, column 43: nth is \"3.5\""},
      {R"({"rules": [{"entry": 3}]})", "TEXT, column 22: entry is a text in quotes"},
      {R"({"rules": [{"entry": null}]})", "TEXT, column 22: null is no value of a rule"},
      {"{\"rules\": [\n  {\"entry\": \"memory_set\",\n   \"status\": \"bad\"}]}",
       "TEXT, line 3, column 15: there is no status"},
      {R"({"rules": []} more)", "TEXT, column 15: "},
  };
  for (const auto& [text, said] : cases) {
    INFO(text);
    CHECK_THAT(refused(text), Catch::StartsWith(said));
  }
}

TEST_CASE("Settings that contradict each other are refused at the later one") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"memory_set=internal nth=2 probability=0.5", "TEXT, column 39: probability contradicts nth"},
      {"memory_set=internal probability=0.5 nth=2", "TEXT, column 41: nth contradicts probability"},
      {"memory_set=internal nth=2 each", "TEXT, column 27: repeat contradicts nth"},
      {"memory_set=internal once sticky", "TEXT, column 26: repeat is there already"},
      {"memory_set=internal nth=1 nth=2", "TEXT, column 31: nth is there already"},
      {"memory_set=internal seed=2", "TEXT, column 26: seed is there without probability"},
      {"memory_set=internal stream=1 stream_id=2", "TEXT, column 40: stream_id contradicts stream"},
      {"memory_set delay=1ms in_stream", "TEXT, column 22: in_stream is there without a status"},
      {"memory_allocate=internal in_stream", "TEXT, column 1: memory_allocate takes no stream"},
      {"memory_allocate=internal stream=1", "TEXT, column 1: memory_allocate takes no stream"},
      {"kernel_from_host=internal after", "TEXT, column 1: kernel_from_host can only fail before its effect"},
      {"shutdown=internal", "TEXT, column 1: shutdown can only fail after its effect"},
      {"device_count=internal", "TEXT, column 1: device_count is called before layers are put on"},
  };
  for (const auto& [text, said] : cases) {
    INFO(text);
    CHECK_THAT(refused(text), Catch::StartsWith(said));
  }
}

TEST_CASE("A rule that an earlier one never lets decide is refused") {
  CHECK_THAT(refused("memory_set=internal; memory_set=timeout"),
             Catch::StartsWith("TEXT, column 22: the rule never decides, because rule 1 fails each of its uses"));
  CHECK_THAT(refused("memory_*=internal place=cuda; event_query=timeout; memory_set=timeout place=cuda"),
             Contains("because rule 1 fails"));
  CHECK(read_rules("memory_set=internal nth=2; memory_set=timeout", "TEXT").size() == 2);
  CHECK(read_rules("memory_set=internal place=cuda:1; memory_set=timeout place=cuda", "TEXT").size() == 2);
  CHECK(read_rules("memory_set=internal; memory_set delay=1ms", "TEXT").size() == 2);
}

TEST_CASE("A file has rules in either form, and its errors name it") {
  const test::TempDir folder;
  CHECK(rule_of("@" + folder.write("short", "memory_set=internal nth=2\n"))->nth == 2);
  CHECK(rule_of("@" + folder.write("json", "\n {\"rules\": [{\"entry\": \"memory_set\", \"status\": \"internal\"}]}\n"))
            ->nth == 0);
  const std::string bad = folder.write("bad", "memory_set=internal;\nmemory_set=wrong");
  CHECK_THAT(refused("@" + bad), Catch::StartsWith(bad + ", line 2, column 12: "));
  CHECK_THAT(refused("@/no/such/file"), Contains("/no/such/file") && Contains("No such file"));
  CHECK_THAT(refused("@" + folder.path().string()), Contains(folder.path().string()));
  CHECK_THAT(refused("@" + folder.write("again", "@" + bad)), Contains("begins with '@'"));
}

TEST_CASE("A rule hits the uses that it names") {
  CHECK(hits(*rule_of("memory_set=internal"), 3) == std::vector{1, 2, 3});
  CHECK(hits(*rule_of("memory_set=internal once"), 3) == std::vector{1});
  CHECK(hits(*rule_of("memory_set=internal nth=2"), 4) == std::vector{2});
  CHECK(hits(*rule_of("memory_set=internal nth=2 sticky"), 4) == std::vector{2, 3, 4});
  CHECK(hits(*rule_of("memory_set=internal probability=0"), 100).empty());
  CHECK(hits(*rule_of("memory_set=internal probability=1"), 3) == std::vector{1, 2, 3});
}

TEST_CASE("With a probability the seed alone decides which uses are hit") {
  const std::string text = "memory_set=internal probability=0.25 seed=";
  const std::vector<int> some = hits(*rule_of(text + "1"), 4000);
  CHECK(some == hits(*rule_of(text + "1"), 4000));
  CHECK(some != hits(*rule_of(text + "2"), 4000));
  CHECK(some.size() > 800);
  CHECK(some.size() < 1200);
  const std::vector<int> first = hits(*rule_of(text + "1 once"), 4000);
  REQUIRE(first.size() == 1);
  CHECK(first.front() == some.front());
  const std::vector<int> from_there = hits(*rule_of(text + "1 sticky"), 4000);
  CHECK(from_there.size() == static_cast<std::size_t>(4000 - some.front() + 1));
}

TEST_CASE(
    "A rule that names no seed draws from cpu_sim's seed in the deterministic mode, and from 0 in the other one") {
  const std::string text = "memory_set=internal probability=0.25";
  const std::vector<int> in_threads = hits(*rule_of(text), 4000);
  CHECK(in_threads == hits(*rule_of(text + " seed=0"), 4000));
  test::set_env("ANYPLACE_CPU_SIM_SEED", "7");
  CHECK(hits(*rule_of(text), 4000) == in_threads);

  test::set_env("ANYPLACE_CPU_SIM_MODE", "deterministic");
  const std::vector<int> seven = hits(*rule_of(text), 4000);
  CHECK(seven == hits(*rule_of(text), 4000));
  CHECK(seven != in_threads);
  CHECK(seven.size() > 800);
  CHECK(seven.size() < 1200);
  // The strategy's own numbers are drawn from the seed itself, and another rule's from another text.
  CHECK(seven != hits(*rule_of(text + " seed=7"), 4000));
  CHECK(seven != hits(*rule_of("memory_copy=internal probability=0.25"), 4000));
  test::set_env("ANYPLACE_CPU_SIM_SEED", "8");
  CHECK(seven != hits(*rule_of(text), 4000));
  CHECK(hits(*rule_of(text + " seed=0"), 4000) == in_threads);

  // A profile brings the mode with it.
  test::unset_env("ANYPLACE_CPU_SIM_MODE");
  test::set_env("ANYPLACE_CPU_SIM_SEED", "7");
  test::set_env("ANYPLACE_CPU_SIM_PROFILE", "laptop");
  CHECK(hits(*rule_of(text), 4000) == seven);
}

TEST_CASE("A rule fits the calls of its place and its stream") {
  CHECK(rule_of("memory_set=internal place=cuda")->fits(subject(3)));
  CHECK_FALSE(rule_of("memory_set=internal place=hip")->fits(subject(3)));
  CHECK(rule_of("memory_set=internal place=cuda:3")->fits(subject(3)));
  CHECK_FALSE(rule_of("memory_set=internal place=cuda:3")->fits(subject(2)));
  CHECK_FALSE(rule_of("memory_set=internal place=cuda:3")->fits(subject(-1)));
  CHECK(rule_of("memory_set=internal stream=0")->fits(subject(3, 0)));
  CHECK_FALSE(rule_of("memory_set=internal stream=1")->fits(subject(3, 0)));
  CHECK_FALSE(rule_of("memory_set=internal stream=0")->fits(subject(3)));
  CHECK(rule_of("memory_set=internal stream_id=77")->fits(subject(3, 5, 77)));
  CHECK_FALSE(rule_of("memory_set=internal stream_id=77")->fits(subject(3, 5, 78)));
}

TEST_CASE("All rules count a use, all delays add up, and the first status decides") {
  RuleSet rules;
  rules.add(read_rules("memory_set delay=1ms; memory_set=internal nth=2 delay=2us; memory_*=timeout", "TEXT"));
  const auto decide = [&] { return rules.decide(ANYPLACE_ENTRY_INDEX_memory_set, subject(0)); };
  const Decision first = decide();
  REQUIRE(first.rule != nullptr);
  CHECK(first.rule->status == ANYPLACE_STATUS_TIMEOUT);
  CHECK(first.delay_before_ns == 1'000'000);
  const Decision second = decide();
  REQUIRE(second.rule != nullptr);
  CHECK(second.rule->status == ANYPLACE_STATUS_INTERNAL);
  CHECK(second.delay_before_ns == 1'002'000);
  CHECK(rules.decide(ANYPLACE_ENTRY_INDEX_event_query, subject(0)).rule == nullptr);
  const auto counts = rules.counts().at("rules");
  REQUIRE(counts.size() == 3);
  CHECK(counts.at(1).at("rule") == "memory_set=internal nth=2 delay=2us");
  CHECK(counts.at(1).at("uses") == 2);
  CHECK(counts.at(1).at("hits") == 1);
  CHECK(counts.at(1).at("first_hit") == "memory_set");
  rules.clear();
  CHECK(decide().rule == nullptr);
}

TEST_CASE("The schema has the keys that rules have") {
  std::ifstream file(std::string(ANYPLACE_SOURCE_ROOT) + "/docs/faults.schema.json");
  const auto properties = nlohmann::json::parse(file).at("$defs").at("rule").at("properties");
  CHECK(properties.size() == std::size(rule_keys));
  for (const std::string_view key : rule_keys) {
    INFO(key);
    REQUIRE(properties.contains(std::string(key)));
    const auto& property = properties.at(std::string(key));
    const bool is_number = property.contains("type") && property.at("type") != "string";
    CHECK(is_number == is_number_key(key));
  }
}

}  // namespace fault_rules_test
