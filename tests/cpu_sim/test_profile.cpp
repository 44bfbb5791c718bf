// SPDX-License-Identifier: Apache-2.0
//
// Profiles of devices, and what operations take by them, against closed forms.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpu_sim/profile.h"
#include "cpu_sim/profile_model.h"
#include "plugin.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace test_profile_cases {

using namespace anyplace::cpu_sim;
using Kind = ModelOperation::Kind;

namespace {

const char* const good = R"({
  "anyplace_device_profile": 1,
  "name": "mine",
  "description": "a device of round figures",
  "sources": {"me": "my own"},
  "memory_bytes": {"value": 1e9, "source": "me"},
  "memory_bytes_per_second": {"value": 1e12, "source": "me"},
  "flops_per_second": {"value": 1e13, "source": "me"},
  "to_device_bytes_per_second": {"value": 10e9, "source": "me"},
  "to_device_latency_ns": {"value": 1000, "source": "me"},
  "to_host_bytes_per_second": {"value": 20e9, "source": "me"},
  "to_host_latency_ns": {"value": 2000, "source": "me"},
  "peer_bytes_per_second": {"value": 100e9, "source": "me"},
  "peer_latency_ns": {"value": 500, "source": "me"},
  "launch_ns": {"value": 3000, "source": "me"},
  "call_ns": {"value": 5000, "source": "me"},
  "devices": {"value": 8, "source": "me"}
})";

Profile mine() { return parse_profile(good, "mine.json"); }

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The message with which the good profile is refused once `from` is `to`.
std::string refusal(const std::string& from, const std::string& to) {
  std::string text = good;
  text.replace(text.find(from), from.size(), to);
  try {
    parse_profile(text, "mine.json");
    return "it was taken";
  } catch (const ProfileError& error) {
    return error.what();
  }
}

ModelOperation kernel(double given_ns, std::vector<std::uint32_t> after = {}, std::uint32_t device = 0) {
  ModelOperation made;
  made.kind = Kind::kernel;
  made.device = device;
  made.given_ns = given_ns;
  made.after = std::move(after);
  return made;
}

ModelOperation copy(Kind kind, double bytes, std::vector<std::uint32_t> after = {}, std::uint32_t device = 0) {
  ModelOperation made;
  made.kind = kind;
  made.device = device;
  made.bytes = bytes;
  made.after = std::move(after);
  return made;
}

/// When each of them begins and ends. What is ready at a time was submitted then.
std::vector<ModelTime> simulate(const Profile& profile, std::vector<ModelOperation> operations) {
  for (ModelOperation& operation : operations) operation.ready_ns += profile.launch_ns;
  DeviceModel model(profile);
  return model.take(model.add(std::move(operations)));
}

/// When the last of them ends.
double total_ns(const Profile& profile, const std::vector<ModelOperation>& operations) {
  double last = 0;
  for (const ModelTime& time : simulate(profile, operations)) last = std::max(last, time.end_ns);
  return last;
}

constexpr double launch = 3000, call = 5000, mb = 1e6;
// A megabyte to the device and to the host.
constexpr double up = 1000 + 100'000, down = 2000 + 50'000;

auto is(double ns) { return Catch::WithinRel(ns, 1e-6); }

std::uint32_t last(const std::vector<ModelOperation>& operations) {
  return static_cast<std::uint32_t>(operations.size() - 1);
}

}  // namespace

TEST_CASE("Given the profiles that come with the library, Then each is read, and is the schema's") {
  const nlohmann::json schema = nlohmann::json::parse(read_file(ANYPLACE_SOURCE_ROOT "/docs/profile.schema.json"));
  const auto check_keys = [&](const std::string& text) {
    const nlohmann::json profile = nlohmann::json::parse(text);
    for (const auto& [key, value] : profile.items()) CHECK(schema.at("properties").contains(key));
  };
  check_keys(good);
  for (const std::string name : {"h100", "mi300x", "pvc", "laptop"}) {
    const std::string path = ANYPLACE_SOURCE_ROOT "/backends/cpu_sim/profiles/" + name + ".json";
    const std::string text = read_file(path);
    CHECK(parse_profile(text, path).name == name);
    check_keys(text);
  }
}

TEST_CASE("Given a bad profile, Then the error has the file, the line, the key and what would be right") {
  CHECK(refusal("\"memory_bytes\": {", "\"memory_byte\": {") == "mine.json:1: the figure \"memory_bytes\" is missing");
  CHECK_THAT(refusal("\"launch_ns\"", "\"launches\""),
             Catch::StartsWith("mine.json:15: there is no key \"launches\"") &&
                 Catch::Contains("the figures are memory_bytes, memory_bytes_per_second"));
  CHECK(refusal("10e9", "0") == "mine.json:9: \"to_device_bytes_per_second\" is 0.0; it has to be more than 0");
  CHECK(refusal("10e9", "1e300") == "mine.json:9: \"to_device_bytes_per_second\" is 1e+300; it is from 1e-6 to 1e18");
  CHECK(refusal("3000", "1e16") == "mine.json:15: \"launch_ns\" is 1e+16; it is from 1e-6 to 1e15");
  CHECK_THAT(refusal("10e9,", "10e9, \"per\": 1,"),
             Catch::StartsWith("mine.json:9: there is no key \"to_device_bytes_per_second/per\"; a figure is"));
  CHECK_THAT(refusal("1e12", "-1"), Catch::StartsWith("mine.json:7: \"memory_bytes_per_second\" is -1.0;"));
  CHECK_THAT(refusal("1e13", "\"fast\""),
             Catch::StartsWith("mine.json:8: \"flops_per_second\" has no number \"value\""));
  CHECK_THAT(refusal("{\"value\": 8,", "{\"value\": 1.5,"),
             Catch::Contains("mine.json:17: \"devices\" is 1.5; it is a whole"));
  CHECK_THAT(refusal("1e13, \"source\": \"me\"", "1e13, \"source\": \"you\""),
             Catch::StartsWith("mine.json:8: \"flops_per_second\" has no source"));
  CHECK_THAT(refusal("{\"me\":", "{\"you\": \"\", \"me\":"),
             Catch::Contains("mine.json:5: no figure is of the source \"you\""));
  CHECK_THAT(refusal("\"name\": \"mine\",", "\"name\": \"mine\""), Catch::StartsWith("mine.json:4: this is no JSON:"));
  CHECK_THAT(refusal("{\"value\": 8, \"source\": \"me\"}", "[8]"),
             Catch::StartsWith("mine.json:17: \"devices\" is a list"));
  CHECK_THAT(refusal("\"name\"", "\"base\": \"h200\", \"name\""),
             Catch::StartsWith("mine.json:3: \"base\" is \"h200\"; it is one of h100, laptop, mi300x, pvc"));
  CHECK_THAT(
      refusal("\"launch_ns\": {", "\"kernels\": {\"k\": {\"threads\": 2, \"source\": \"me\"}}, \"launch_ns\": {"),
      Catch::StartsWith("mine.json:15: there is no key \"kernels/k/") && Catch::Contains("a kernel has launch_ns"));
  CHECK_THAT(refusal("\"launch_ns\": {",
                     "\"kernels\": {\"k\": {\"launch_ns\": 2, \"flops_per_thread\": 1}}, \"launch_ns\": {"),
             Catch::Contains("has to have either \"launch_ns\""));
  CHECK_THAT(refusal("\"launch_ns\"", "\"call_ns\""),
             Catch::Contains("mine.json:16: the key \"call_ns\" is there twice"));
  CHECK_THAT(refusal("profile\": 1", "profile\": 2"), Catch::Contains("mine.json:2: a profile begins with"));
}

TEST_CASE("Given operations that run alone, Then they take what their bytes and the profile say") {
  const Profile profile = mine();
  CHECK_THAT(copy_ns(profile, Kind::to_device, mb), is(up));
  CHECK_THAT(copy_ns(profile, Kind::to_host, mb), is(down));
  CHECK_THAT(copy_ns(profile, Kind::peer, mb), is(500 + 10'000));
  CHECK_THAT(kernel_ns(profile, mb, 0), is(1000));
  CHECK_THAT(kernel_ns(profile, mb, 1e9), is(100'000));
  Profile unlinked = profile;
  unlinked.peer = {};
  CHECK_THAT(copy_ns(unlinked, Kind::peer, mb), is(up + down));
}

TEST_CASE("Given times that are told apart by more than an operation takes, Then it ends all the same") {
  CHECK_THAT(total_ns(mine(), {kernel(1e18), copy(Kind::to_device, mb, {0}), kernel(0.3, {1})}), is(1e18));
}

TEST_CASE("Given copies only, or kernels only, on a stream, Then their times add up") {
  std::vector<ModelOperation> copies{copy(Kind::to_device, mb)}, kernels{kernel(7000)};
  for (int i = 1; i < 10; ++i) {
    copies.push_back(copy(Kind::to_device, mb, {last(copies)}));
    kernels.push_back(kernel(7000, {last(kernels)}));
  }
  CHECK_THAT(total_ns(mine(), copies), is(launch + 10 * up));
  CHECK_THAT(total_ns(mine(), kernels), is(launch + 10 * 7000));
}

namespace {

/// Copy, kernel and copy, n times. The steps of one round come one after the other, and so do the same steps of the
/// rounds; with one buffer, a round begins when the one before is over, with two, when the one before that is.
std::vector<ModelOperation> pipeline(std::uint32_t rounds, double kernel_ns, std::uint32_t buffers) {
  std::vector<ModelOperation> made;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::vector<std::uint32_t> free;
    if (round >= buffers) free.push_back(3 * (round - buffers) + 2);
    made.push_back(copy(Kind::to_device, mb, free));
    made.push_back(kernel(kernel_ns, {last(made)}));
    made.push_back(copy(Kind::to_host, mb, {last(made)}));
  }
  return made;
}

}  // namespace

TEST_CASE("Given a serial and a double-buffered pipeline, Then the one takes the sum and the other the longest step") {
  constexpr double work = 80'000;
  CHECK_THAT(total_ns(mine(), pipeline(20, work, 1)), is(launch + 20 * (up + work + down)));
  // Two rounds are under way: a round begins every half of its length, or as soon as the copies to the device allow.
  CHECK_THAT(total_ns(mine(), pipeline(20, work, 2)), is(launch + 10 * (up + work + down) + up));
  CHECK_THAT(total_ns(mine(), pipeline(20, work, 3)), is(launch + 20 * up + work + down));
}

TEST_CASE("Given two devices, Then they don't hold each other up unless they share a link") {
  const std::vector<ModelOperation> both{copy(Kind::to_device, mb), copy(Kind::to_device, mb, {}, 1), kernel(5000, {0}),
                                         kernel(5000, {1}, 1)};
  Profile profile = mine();
  CHECK_THAT(total_ns(profile, both), is(launch + up + 5000));
  profile.devices_per_host_link = 2;
  CHECK_THAT(total_ns(profile, both), is(launch + 1000 + 2 * 100'000 + 5000));
}

TEST_CASE("Given kernels beside each other, Then they share the device if it takes several, else they queue") {
  const std::vector<ModelOperation> kernels{kernel(10'000), kernel(30'000)};
  Profile profile = mine();
  CHECK_THAT(simulate(profile, kernels)[0].end_ns, is(launch + 10'000));
  CHECK_THAT(simulate(profile, kernels)[1].end_ns, is(launch + 40'000));
  profile.concurrent_kernels = 2;
  CHECK_THAT(simulate(profile, kernels)[0].end_ns, is(launch + 20'000));
  CHECK_THAT(simulate(profile, kernels)[1].end_ns, is(launch + 40'000));
}

TEST_CASE("Given short kernels, Then calls are what takes the time, and a graph takes one call") {
  std::vector<ModelOperation> stream, graph;
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::uint32_t> after =
        i == 0 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{last(stream)};
    stream.push_back(kernel(1000, after));
    stream.back().ready_ns = call * (i + 1);
    graph.push_back(kernel(1000, after));
    graph.back().ready_ns = call;
  }
  CHECK_THAT(total_ns(mine(), stream), is(100 * call + launch + 1000));
  CHECK_THAT(total_ns(mine(), graph), is(call + launch + 100 * 1000));
}

TEST_CASE("Given a ring all_reduce, Then each of its steps moves one part of the buffer") {
  constexpr std::uint32_t ranks = 8;
  constexpr double whole = 64 * mb, part = whole / ranks;
  std::vector<ModelOperation> ring;
  for (std::uint32_t step = 0; step < 2 * (ranks - 1); ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      // A rank passes on what it was sent in the step before.
      std::vector<std::uint32_t> after;
      if (step > 0) after.push_back((step - 1) * ranks + (rank + ranks - 1) % ranks);
      ring.push_back(copy(Kind::peer, part, after, rank));
      ring.back().receiver = (rank + 1) % ranks;
    }
  }
  CHECK_THAT(total_ns(mine(), ring), is(launch + 2 * (ranks - 1) * (500 + part / 100)));
}

TEST_CASE("Given an operation that comes after itself, Then it is refused with its index") {
  CHECK_THROWS_WITH(simulate(mine(), std::vector<ModelOperation>{kernel(1, {0})}),
                    "operation 0 comes after 0, which isn't before it");
}

TEST_CASE("Given a copy, When another one comes to share its link, Then it ends later than was expected before") {
  Profile profile = mine();
  profile.copy_engines = 2;
  DeviceModel model(profile);
  const DeviceModel::Job first = model.add({copy(Kind::to_device, mb)});
  CHECK_THAT(model.end_ns(first), is(up));
  model.advance(50'000);
  model.add({copy(Kind::to_device, mb)});
  // The second one's latency is over at 51 us, when the first one has half of its bytes left.
  CHECK_THAT(model.end_ns(first), is(51'000 + 2 * 50'000));
}

TEST_CASE("Given a more urgent kernel, Then it begins before one that has waited longer") {
  const Profile profile = mine();
  DeviceModel model(profile);
  model.add({kernel(1000)});
  ModelOperation waits = kernel(1000), urgent = kernel(1000);
  waits.level = 2;
  urgent.level = 1;
  urgent.ready_ns = 500;
  const DeviceModel::Job patient = model.add({waits}), first = model.add({urgent});
  CHECK_THAT(model.end_ns(first), is(2000));
  CHECK_THAT(model.end_ns(patient), is(3000));
}

TEST_CASE("Given a profile with a base, Then it has the base's figures but its own, and what its kernels need") {
  const Profile profile = parse_profile(R"({
    "anyplace_device_profile": 1, "name": "tuned", "description": "an H100 as I measured it", "base": "h100",
    "sources": {"me": "my own"},
    "launch_ns": {"value": 2500, "source": "me"},
    "kernels": {"saxpy": {"bytes_per_thread": 12, "flops_per_thread": 2, "source": "me"},
                "reduce": {"launch_ns": 35000, "source": "me"}, "*": {"launch_ns": 4000, "source": "me"}}
  })",
                                        "tuned.json");
  CHECK(profile.memory_bytes == 80'000'000'000);
  CHECK(profile.launch_ns == 2500);
  CHECK(profile.kernels.at("saxpy").bytes_per_thread == 12);
  CHECK(profile.kernels.at("saxpy").flops_per_thread == 2);
  CHECK(profile.kernels.at("saxpy").launch_ns < 0);
  CHECK(profile.kernels.at("reduce").launch_ns == 35000);
  CHECK(profile.other_kernels.launch_ns == 4000);
}

TEST_CASE("Program: it enters the plugin with the environment's profile, and says why it can't", "[.enters]") {
  std::string text;
  if (cpu_sim_test::Plugin::enter({}, &text) != ANYPLACE_STATUS_OK) std::fputs(text.c_str(), stderr);
}

TEST_CASE("Given a bad ANYPLACE_CPU_SIM_PROFILE, Then the plugin is refused with what would be right") {
  const test::TempDir folder;
  const std::string zero = std::string(good).replace(std::string(good).find("10e9"), 4, "0");
  const struct {
    std::string mode, profile, says;
  } wrong[] = {
      {"", "h200", "there is no profile \"h200\"\nprofiles are h100, laptop, mi300x, pvc, and files"},
      {"", folder.file("none.json"), "none.json can't be read: No such file"},
      {"", folder.path().string() + "/", "is no regular file"},
      {"", folder.write("list.json", "[]\n"), "list.json:1: this is a list; a profile is an object"},
      {"", folder.write("text.json", "devices: 8\n"), "text.json:1: this is no JSON"},
      {"", folder.write("zero.json", zero),
       "zero.json:9: \"to_device_bytes_per_second\" is 0.0; it has to be more than 0"},
      {"threads", "h100", "needs the deterministic mode, and ANYPLACE_CPU_SIM_MODE is \"threads\""},
  };
  for (const auto& [mode, value, says] : wrong) {
    const test::Ended ended = test::Process({"/proc/self/exe", "[.enters]"},
                                            {{"ANYPLACE_CPU_SIM_MODE", mode}, {"ANYPLACE_CPU_SIM_PROFILE", value}})
                                  .end();
    INFO(value << ": " << ended.out);
    CHECK_THAT(ended.out, Catch::Contains("ANYPLACE_CPU_SIM_PROFILE") && Catch::Contains(says));
  }
}

}  // namespace test_profile_cases
