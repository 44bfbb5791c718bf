// SPDX-License-Identifier: Apache-2.0
//
// Random numbers in graphs: a launch draws what the fills would have drawn one by one, at that moment. On devices that
// launch a graph as one and on those for which the core submits the nodes.
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "graphs/graph_support.h"
#include "memory/memory_support.h"
#include "random/random_support.h"

namespace graph_test {

using namespace anyplace;

namespace {

constexpr std::int64_t count = 300;

Device graph_device() {
  if (test::place() != "cpu_sim:0") return Device(test::place());
  return test::graph_device();
}

/// Two fills of a generator, and the memory that they fill.
struct Work {
  Device device = graph_device();
  Stream stream{device};
  Generator generator{device};
  Buffer normals = Buffer::of<float>(stream, count);
  Buffer dice = Buffer::of<std::uint8_t>(stream, count);

  void submit(const StreamView& on) const {
    generator.normal(on, RandomTarget(normals, DType::f32, count));
    generator.integers(on, RandomTarget(dice, DType::u8, count), 1, 6);
  }
  Graph captured() const {
    stream.begin_capture();
    submit(stream);
    return stream.end_capture();
  }
  /// What is there now.
  std::vector<unsigned char> found() const {
    std::vector<unsigned char> bytes(count * 5);
    stream.copy(HostSpan(bytes.data(), count * 4), normals);
    stream.copy(HostSpan(bytes.data() + count * 4, count), dice);
    stream.synchronize();
    return bytes;
  }
  std::vector<unsigned char> submitted() const {
    submit(stream);
    return found();
  }
  std::vector<unsigned char> launched(const GraphExec& exec) const {
    exec.launch(stream);
    return found();
  }
};

}  // namespace

TEST_CASE("A captured fill draws at each launch what it would have drawn then", "[place]") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  CHECK(work.generator.offset() == 0);  // capturing draws nothing
  std::vector<std::vector<unsigned char>> launched, submitted;
  for (int i = 0; i < 3; ++i) launched.push_back(work.launched(exec));
  const std::uint64_t offset = work.generator.offset();
  work.generator.set_offset(0);
  for (int i = 0; i < 3; ++i) submitted.push_back(work.submitted());
  CHECK(launched == submitted);
  CHECK(work.generator.offset() == offset);
  CHECK(launched[0] != launched[1]);
}

TEST_CASE("A state that is set before a launch gives its numbers again", "[place]") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  static_cast<void>(work.launched(exec));
  const std::vector<std::byte> state = work.generator.get_state();
  const auto first = work.launched(exec), second = work.launched(exec);
  work.generator.set_state(state);
  CHECK(work.launched(exec) == first);
  CHECK(work.launched(exec) == second);
  work.generator.manual_seed(1);
  CHECK(work.launched(exec) != first);
}

TEST_CASE("Launches that follow each other at once each have their own numbers", "[place]") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  const Stream other(work.device);
  const Buffer kept(work.stream, count * 4 * 4);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const StreamView on = i % 2 == 0 ? work.stream.view() : other.view();
    exec.launch(on);
    on.copy(kept.sub(i * count * 4, count * 4), work.normals);
    (i % 2 == 0 ? other.view() : work.stream.view()).wait_stream(on);  // the next launch writes where the copy reads
  }
  std::vector<unsigned char> together(count * 4 * 4);
  work.stream.copy(together, kept);
  work.stream.synchronize();
  work.generator.set_offset(0);
  for (std::size_t i = 0; i < 4; ++i) {
    auto alone = work.submitted();
    CHECK(std::memcmp(alone.data(), together.data() + i * count * 4, count * 4) == 0);
  }
}

TEST_CASE("A graph's numbers have memory that is there, whatever stream the launch is on") {
  const Device device("sim_full:0");
  configure_allocator(device, {.caching = false});  // each allocation is there in the order of a stream
  const Stream stream(device);
  const Generator generator(device);
  const Buffer numbers = Buffer::of<float>(stream, count);
  stream.begin_capture();
  generator.normal(stream, RandomTarget(numbers, DType::f32, count));
  const Graph graph = stream.end_capture();
  stream.synchronize();
  for (const bool native : {true, false}) {
    const GraphExec exec = graph.instantiate({.native = native});
    exec.launch(stream);
    stream.synchronize();
  }
  CHECK(memory_test::controls_of(device).launches_beside_allocation == 0);
}

TEST_CASE("Two executables of one graph, and fills between, have no numbers in common") {
  const Work work;
  const Graph graph = work.captured();
  const GraphExec one = graph.instantiate(), other = graph.instantiate();
  std::vector<std::vector<unsigned char>> mixed, plain;
  mixed.push_back(work.launched(one));
  mixed.push_back(work.launched(other));
  mixed.push_back(work.submitted());
  mixed.push_back(work.launched(one));
  work.generator.set_offset(0);
  for (int i = 0; i < 4; ++i) plain.push_back(work.submitted());
  CHECK(mixed == plain);
}

TEST_CASE("A graph that is a part of another twice draws twice") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  const Buffer first(work.stream, count * 4);
  work.stream.begin_capture();
  exec.launch(work.stream);
  work.stream.copy(first, work.normals);
  exec.launch(work.stream);
  const GraphExec twice = work.stream.end_capture().instantiate();
  for (int time = 0; time < 2; ++time) {
    const std::uint64_t before = work.generator.offset();
    const auto second_found = work.launched(twice);
    std::vector<unsigned char> first_found(count * 4);
    work.stream.copy(first_found, first);
    work.stream.synchronize();
    work.generator.set_offset(before);
    const auto one = work.submitted(), two = work.submitted();
    CHECK(std::memcmp(first_found.data(), one.data(), count * 4) == 0);
    CHECK(second_found == two);
  }
}

TEST_CASE("An update keeps drawing, and launches made before keep theirs") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  work.stream.begin_capture();
  work.generator.uniform(work.stream, RandomTarget(work.normals, DType::f32, count));
  work.generator.integers(work.stream, RandomTarget(work.dice, DType::u8, count), 1, 3);
  const Graph next = work.stream.end_capture();
  const Buffer kept(work.stream, count * 4);
  exec.launch(work.stream);
  work.stream.copy(kept, work.normals);
  exec.update(next);
  exec.launch(work.stream);
  const auto updated = work.found();
  std::vector<unsigned char> before(count * 4);
  work.stream.copy(before, kept);
  work.stream.synchronize();
  work.generator.set_offset(0);
  CHECK(std::memcmp(work.submitted().data(), before.data(), count * 4) == 0);
  work.generator.uniform(work.stream, RandomTarget(work.normals, DType::f32, count));
  work.generator.integers(work.stream, RandomTarget(work.dice, DType::u8, count), 1, 3);
  CHECK(work.found() == updated);
}

TEST_CASE("Several generators in one graph each go on by themselves") {
  const Work work;
  const Generator other(work.device);
  other.manual_seed(77);
  work.stream.begin_capture();
  work.generator.uniform(work.stream, RandomTarget(work.normals, DType::f32, count));
  other.bernoulli(work.stream, RandomTarget(work.dice, DType::u8, count), 0.5);
  const GraphExec exec = work.stream.end_capture().instantiate();
  exec.launch(work.stream);
  exec.launch(work.stream);
  const auto found = work.found();
  work.generator.set_offset(0);
  other.manual_seed(77);
  for (int i = 0; i < 2; ++i) {
    work.generator.uniform(work.stream, RandomTarget(work.normals, DType::f32, count));
    other.bernoulli(work.stream, RandomTarget(work.dice, DType::u8, count), 0.5);
  }
  CHECK(work.found() == found);
}

TEST_CASE("A graph over two devices draws on both") {
  const Device first("cpu_sim:0"), second("cpu_sim:1");
  const Stream stream(first), branch(second);
  const Buffer here = Buffer::of<float>(stream, count), there = Buffer::of<float>(branch, count);
  const Generator one(first), two(second);
  stream.begin_capture();
  branch.wait_event(stream.record_event());
  two.normal(branch, there.as<float>());
  one.normal(stream, here.as<float>());
  stream.wait_stream(branch);
  const GraphExec exec = stream.end_capture().instantiate();
  std::vector<float> on_first(count), on_second(count);
  for (int i = 0; i < 3; ++i) exec.launch(stream);
  stream.copy(on_first, here);
  stream.synchronize();
  branch.copy(on_second, there);
  branch.synchronize();
  CHECK(test::same_bytes(on_first, on_second));
  CHECK(one.offset() == 3 * 320);
  one.set_offset(2 * 320);
  one.normal(stream, here.as<float>());
  std::vector<float> plain(count);
  stream.copy(plain, here);
  stream.synchronize();
  CHECK(test::same_bytes(plain, on_first));
}

TEST_CASE("A generator may go before the graph, and the graph before its launches are done") {
  const Device device = graph_device();
  const Stream stream(device);
  const Buffer buffer = Buffer::of<float>(stream, count);
  std::vector<float> found(count), plain(count);
  {
    GraphExec exec;
    {
      const Generator generator(device);
      stream.begin_capture();
      generator.normal(stream, buffer.as<float>());
      exec = stream.end_capture().instantiate();
    }
    test::HostGate gate;
    gate.block(stream);
    exec.launch(stream);
    exec = GraphExec();
    gate.open();
  }
  stream.copy(found, buffer);
  Generator(device).normal(stream, buffer.as<float>());
  stream.copy(plain, buffer);
  stream.synchronize();
  CHECK(test::same_bytes(found, plain));
}

TEST_CASE("Instantiating while another stream is captured disturbs no capture") {
  const Work work;
  const Graph graph = work.captured();
  const Stream other(work.device);
  other.begin_capture();
  const GraphExec exec = graph.instantiate();
  CHECK(other.capture_status() == CaptureStatus::active);
  static_cast<void>(other.end_capture());
  static_cast<void>(work.launched(exec));
}

TEST_CASE("Fills on several threads beside launches take no number twice") {
  const Work work;
  const GraphExec exec = work.captured().instantiate();
  std::thread beside([&] {
    const Stream stream(work.device);
    const Buffer buffer = Buffer::of<float>(stream, 64);
    for (int i = 0; i < 30; ++i) work.generator.uniform(stream, buffer.as<float>());
    stream.synchronize();
  });
  for (int i = 0; i < 30; ++i) exec.launch(work.stream);
  beside.join();
  work.stream.synchronize();
  // 300 normals are 5 groups of 64; 300 dice 10 groups of 32.
  CHECK(work.generator.offset() == 30 * (5 + 10) * 64 + 30 * 64);
}

TEST_CASE("A state can't be set within a capture on the generator's device, and the capture goes on") {
  const Work work;
  const Place place = work.device.place();
  const std::string backend = work.device.backend();
  const std::vector<std::byte> state = work.generator.get_state();
  const auto states = get_rng_state_all(backend);
  work.stream.begin_capture();
  work.submit(work.stream);
  const std::vector<std::function<void()>> calls = {
      [&] { work.generator.manual_seed(1); }, [&] { work.generator.seed(); },
      [&] { work.generator.set_offset(4); },  [&] { work.generator.set_state(state); },
      [&] { manual_seed(place, 1); },         [&] { seed(place); },
      [&] { manual_seed_all(backend, 1); },   [&] { seed_all(backend); },
      [&] { set_rng_state(place, state); },   [&] { set_rng_state_all(backend, states); },
      [&] { const ForkRng fork{place}; },
  };
  for (const auto& call : calls) {
    const Error error = test::required_error(ErrorCode::capturing, call);
    CHECK(error.see() == "see docs/random.md");
  }
  CHECK(work.generator.get_state() == state);
  // What others do is their own.
  std::thread([&] { Generator(work.device).manual_seed(1); }).join();
  Generator(Place("cpu_sim:1")).manual_seed(1);
  const GraphExec exec = work.stream.end_capture().instantiate();
  const auto launched = work.launched(exec);
  work.generator.set_state(state);
  CHECK(work.submitted() == launched);
}

TEST_CASE("A fill that is captured within a fork moves the offset at each launch, after the fork too") {
  const Work work;
  const Generator own = default_generator(work.device);
  own.manual_seed(7);
  std::optional<GraphExec> exec;
  {
    const ForkRng fork{work.device.place()};
    work.stream.begin_capture();
    own.normal(work.stream, RandomTarget(work.normals, DType::f32, count));
    exec = work.stream.end_capture().instantiate();
  }
  CHECK(own.offset() == 0);
  exec->launch(work.stream);
  work.stream.synchronize();
  const std::uint64_t moved = own.offset();
  CHECK(moved != 0);
  {
    const ForkRng fork{work.device.place()};
    exec->launch(work.stream);
    work.stream.synchronize();
    CHECK(own.offset() == 2 * moved);
  }
  CHECK(own.offset() == moved);
}

}  // namespace graph_test
