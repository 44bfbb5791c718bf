// SPDX-License-Identifier: Apache-2.0
// Seeds and states, of the devices' generators and of free ones.
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "random/random_support.h"

namespace state_test {

using namespace anyplace;
using test::required_error;

namespace {

std::vector<float> some(const Device& device, const Generator& generator) {
  return test::filled<float>(device, 200, DType::f32, [&](const StreamView& stream, const RandomTarget& target) {
    generator.uniform(stream, target);
  });
}

bool is_loaded(const std::string& backend) {
  for (const PluginCandidate& candidate : plugin_candidates()) {
    if (candidate.name == backend && candidate.state == PluginCandidate::State::accepted) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("Seeding before the first use is remembered and loads nothing") {
  manual_seed_all("cpu_sim", 11);
  manual_seed("cpu_sim:1", 12);
  const std::vector<std::byte> state = get_rng_state(Place("cpu_sim:1"));
  set_rng_state(Place("cpu_sim:2"), state);
  const Generator generator{Place("cpu_sim:0")};
  CHECK(!is_loaded("cpu_sim"));
  CHECK(initial_seed(Place("cpu_sim:0")) == 11);
  CHECK(initial_seed(Place("cpu_sim")) == 11);
  CHECK(initial_seed(Place("cpu_sim:1")) == 12);
  CHECK(initial_seed(Place("cpu_sim:2")) == 12);
  CHECK(initial_seed(Place("custom_cpu:1")) == 12);  // an alias
  CHECK(initial_seed(Place("cpu_sim:77")) == 11);
  CHECK(!is_loaded("cpu_sim"));
  const Device device("cpu_sim:1");
  CHECK(is_loaded("cpu_sim"));
  CHECK(default_generator(device).initial_seed() == 12);
}

TEST_CASE("A device's generator is seeded at random, and a free one with a fixed seed") {
  const std::uint64_t one = initial_seed(Place("cpu_sim:0")), other = initial_seed(Place("cpu_sim:1"));
  CHECK(one != other);
  CHECK(one < std::uint64_t{1} << 53);
  CHECK(Generator(Place("cpu_sim:0")).initial_seed() == Generator::default_seed);
}

TEST_CASE("The same seed gives the same numbers, and seeding begins again") {
  const Device device("cpu_sim:0");
  manual_seed("cpu_sim:0", 5);
  const Generator generator = default_generator(device);
  const auto first = some(device, generator), second = some(device, generator);
  CHECK(first != second);
  generator.manual_seed(5);
  CHECK(generator.offset() == 0);
  CHECK(some(device, generator) == first);
  generator.manual_seed(6);
  CHECK(some(device, generator) != first);
}

TEST_CASE("seed() takes a new seed and returns it") {
  const Generator generator(Place("cpu_sim:0"));
  generator.set_offset(4);
  const std::uint64_t one = generator.seed();
  CHECK(generator.initial_seed() == one);
  CHECK(generator.offset() == 0);
  CHECK(generator.seed() != one);
  const std::uint64_t of_all = seed_all("cpu_sim");
  CHECK(initial_seed(Place("cpu_sim:0")) == of_all);
  CHECK(initial_seed(Place("cpu_sim:3")) == of_all);
  const std::uint64_t of_one = seed(Place("cpu_sim:3"));
  CHECK(initial_seed(Place("cpu_sim:3")) == of_one);
  CHECK(initial_seed(Place("cpu_sim:0")) == of_all);
}

TEST_CASE("A state given back gives the numbers that came after it, on any device") {
  const Device device("cpu_sim:0"), other("cpu_sim:1");
  const Generator generator(device), elsewhere(other);
  static_cast<void>(some(device, generator));
  const std::vector<std::byte> state = generator.get_state();
  CHECK(state.size() == 24);
  const auto after = some(device, generator);
  generator.set_state(state);
  CHECK(some(device, generator) == after);
  elsewhere.set_state(state);
  CHECK(elsewhere.initial_seed() == generator.initial_seed());
  CHECK(some(other, elsewhere) == after);
}

TEST_CASE("A clone goes on by itself") {
  const Device device("cpu_sim:0");
  const Generator generator(device);
  static_cast<void>(some(device, generator));
  const Generator copy = generator, clone = generator.clone();
  CHECK(clone.place().to_string() == "cpu_sim:0");
  const auto next = some(device, generator);
  CHECK(some(device, clone) == next);
  CHECK(copy.offset() == generator.offset());
}

TEST_CASE("All devices' states are kept and given back") {
  manual_seed_all("cpu_sim", 3);
  const auto states = get_rng_state_all("cpu_sim");
  CHECK(states.size() == static_cast<std::size_t>(device_count("cpu_sim")));
  manual_seed_all("cpu_sim", 4);
  set_rng_state_all("cpu_sim", states);
  CHECK(get_rng_state_all("cpu_sim") == states);
  CHECK(initial_seed(Place("cpu_sim:0")) == 3);
}

TEST_CASE("A fork gives the states back, also when an exception passes") {
  const Device device("cpu_sim:0");
  manual_seed("cpu_sim:0", 5);
  manual_seed("cpu_sim:1", 6);
  static_cast<void>(some(device, default_generator(device)));
  const auto before = get_rng_state(Place("cpu_sim:0"));
  try {
    const ForkRng fork{Place("cpu_sim:0"), Place("cpu_sim:1")};
    manual_seed("cpu_sim:1", 7);
    static_cast<void>(some(device, default_generator(device)));
    throw 1;
  } catch (int) {
  }
  CHECK(get_rng_state(Place("cpu_sim:0")) == before);
  CHECK(initial_seed(Place("cpu_sim:1")) == 6);
}

TEST_CASE("A name alone means the thread's current device") {
  set_current_device(Device("cpu_sim:1"));
  manual_seed("cpu_sim", 21);
  CHECK(initial_seed(Place("cpu_sim:1")) == 21);
  std::thread([] { manual_seed("cpu_sim", 22); }).join();
  CHECK(initial_seed(Place("cpu_sim:0")) == 22);
  CHECK(initial_seed(Place("cpu_sim:1")) == 21);
}

TEST_CASE("Offsets count from the seed on, and go round") {
  const Generator generator(Place("cpu_sim:0"));
  generator.set_offset(~std::uint64_t{0} - 3);
  const Device device("cpu_sim:0");
  static_cast<void>(some(device, generator));
  CHECK(generator.offset() == 256 - 4);
}

TEST_CASE("States for another number of devices than there are are refused, and none is set") {
  manual_seed_all("cpu_sim", 3);
  auto states = get_rng_state_all("cpu_sim");
  manual_seed_all("cpu_sim", 4);
  auto more = states;
  more.push_back(states.front());
  states.pop_back();
  for (const auto& wrong : {states, more, decltype(states)()}) {
    const Error error = required_error(ErrorCode::invalid_argument, [&] { set_rng_state_all("cpu_sim", wrong); });
    CHECK(std::string(error.what()).find(std::to_string(wrong.size()) + " states") != std::string::npos);
    CHECK(initial_seed(Place("cpu_sim:0")) == 4);
  }
}

TEST_CASE("A generator that was moved from is refused by every member, and one that was assigned is good again") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Buffer buffer = Buffer::of<float>(stream, 16);
  const RandomTarget target(buffer, DType::f32, 16), whole(buffer, DType::i32, 16);
  Generator generator(device);
  Generator taken(std::move(generator));
  const Generator& null = generator;  // NOLINT: the moved-from state is promised
  const std::vector<std::byte> state = taken.get_state();
  const std::vector<std::function<void()>> calls = {
      [&] { static_cast<void>(null.place()); },
      [&] { null.manual_seed(1); },
      [&] { null.seed(); },
      [&] { static_cast<void>(null.initial_seed()); },
      [&] { static_cast<void>(null.offset()); },
      [&] { null.set_offset(4); },
      [&] { static_cast<void>(null.get_state()); },
      [&] { null.set_state(state); },
      [&] { static_cast<void>(null.clone()); },
      [&] { null.uniform(stream, target); },
      [&] { null.normal(stream, target); },
      [&] { null.exponential(stream, target); },
      [&] { null.integers(stream, whole, 1, 6); },
      [&] { null.bernoulli(stream, target); },
      [&] { null.permutation(stream, whole); },
  };
  for (const auto& call : calls) {
    const Error error = required_error(ErrorCode::invalid_handle, call);
    CHECK(std::string(error.what()).find("moved from") != std::string::npos);
  }
  generator = taken;
  CHECK(generator.place() == taken.place());
}

}  // namespace state_test
