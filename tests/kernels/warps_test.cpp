// SPDX-License-Identifier: Apache-2.0
// The kernels of warps.cu, compiled with the program and out of their text, and what each must compute: a warp's lanes
// one by one, without a kernel.
#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/compile.h"
#include "support/environment.h"
#include "warp_kernels.h"

namespace warps_test {
namespace {

using namespace anyplace;
using Word = std::uint32_t;
using Words = std::vector<Word>;

constexpr Word warp = 32, untouched = 0xdeadbeef;

Words input(Word count) {
  Words values(count);
  for (Word i = 0; i < count; ++i) values[i] = (i * 2654435761u) ^ (i * i * 40503u) >> 3;
  return values;
}

/// One thread, of what its block reads.
struct Thread {
  const Words& in;
  Word number, lane = number % warp, first = number - lane, own = in[number];
  Word count = static_cast<Word>(in.size());
  Word at(Word other) const { return in[first + other]; }
  /// The lanes of its warp of which that is true.
  Word lanes(const std::function<bool(Word value)>& is_true) const {
    Word bits = 0;
    for (Word i = 0; i < warp && first + i < count; ++i) bits |= static_cast<Word>(is_true(at(i))) << i;
    return bits;
  }
};

Word inside(Word lane, Word other, Word width) { return other / width == lane / width ? other : lane; }

Word votes(const Thread& t) {
  const bool any = t.lanes([](Word value) { return value % 64 == 0; }) != 0;
  return t.lanes([](Word value) { return value % 2 != 0; }) ^ (any ? 2u : 0u) ^ (any ? 0u : 4u);
}
Word halves_before(const Thread& t, Word lane) {
  return lane < 16 ? t.at(lane) + t.at(lane ^ 1) : t.at(lane) - t.at(lane ^ 3);
}
Word structures(const Thread& t) {
  const Word other = t.at(t.lane ^ 1) % 1000;
  return other + (other + 1) * 1000 + other % 256 * 1000000u;
}
Word sum_of_block(const Thread& t) {
  Word sum = 0;
  for (const Word value : t.in) sum += value;
  return sum;
}
Word some_return(const Thread& t) { return t.lane % 4 == 1 ? untouched : 0xdddddddd + t.at(2); }

struct Expected {
  const char* kernel;
  std::function<Word(const Thread&)> of;
};

std::vector<Expected> expected() {
  return {
      {"from_a_lane", [](const Thread& t) { return t.at((t.lane * 7 + 3) % 32); }},
      {"from_a_lane_of_eight", [](const Thread& t) { return t.at(t.lane / 8 * 8 + (t.lane + 3) % 8); }},
      {"from_below",
       [](const Thread& t) {
         return t.at(t.lane < 3 ? t.lane : t.lane - 3) + 3 * t.at(inside(t.lane, t.lane - 5, 16));
       }},
      {"from_above",
       [](const Thread& t) {
         return t.at(t.lane > 28 ? t.lane : t.lane + 3) + 3 * t.at(inside(t.lane, t.lane + 5, 16));
       }},
      {"from_across",
       [](const Thread& t) {
         return t.at(t.lane ^ 21) + 3 * t.at((t.lane ^ 12) > (t.lane | 7) ? t.lane : t.lane ^ 12);
       }},
      {"wide_values", [](const Thread& t) { return t.at(t.lane ^ 1) % 1000 + t.at(9); }},
      {"structures", structures},
      {"votes", votes},
      {"equal_values", [](const Thread& t) { return t.lanes([&](Word value) { return value % 5 == t.own % 5; }); }},
      {"sum_of_block", sum_of_block},
      {"halves", [](const Thread& t) { return halves_before(t, t.lane) + halves_before(t, 16); }},
      {"through_shared_memory", [](const Thread& t) { return t.own * 2; }},
      {"some_return", some_return},
  };
}

Words run(const Module& module, const char* kernel, Dim3 block) {
  const Word count = block.x * block.y * block.z;
  const Stream stream(module.device());
  const Buffer in = Buffer::of<Word>(stream, count), out = Buffer::of<Word>(stream, count);
  const Words values = input(count);
  Words words(count);
  stream.copy(in, values);
  stream.fill(out.as<Word>(), untouched);
  stream.launch(module.kernel(kernel), {Dim3{1}, block}, out, in);
  stream.copy(words, out);
  stream.synchronize();
  return words;
}

void check_kernels(const Module& module) {
  for (const Expected& one : expected()) {
    for (const Dim3 block : {Dim3{32}, Dim3{8, 4, 3}, Dim3{1024}}) {
      INFO(one.kernel << ", " << block.x << " x " << block.y << " x " << block.z);
      const Words values = input(block.x * block.y * block.z);
      Words words;
      for (Word i = 0; i < values.size(); ++i) words.push_back(one.of({values, i}));
      CHECK(run(module, one.kernel, block) == words);
    }
  }
}

std::string source() {
  std::ifstream file(WARPS_SOURCE, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_there(const char* program) {
  return std::system(("command -v " + std::string(program) + " >/dev/null").c_str()) == 0;
}
/// Skips, and says it, where the compiler isn't there.
bool lacks(const char* program) {
  if (is_there(program)) return false;
  std::cout << "ANYPLACE_TEST_SKIPPED: there is no " << program << "\n";
  return true;
}

}  // namespace

TEST_CASE("Threads of a warp pass values to each other") { check_kernels(Module(Device("cpu_sim:0"), warp_kernels)); }

TEST_CASE("Threads of a warp pass values to each other in kernels out of a string, by any compiler of the host") {
  for (const char* const compiler : {"g++", "clang++-14", "clang++-19"}) {
    if (!is_there(compiler)) continue;
    test::set_env("ANYPLACE_CXX", compiler);
    check_kernels(Module::compile(Device("cpu_sim:0"), source(), {.cached = false}));
  }
}

TEST_CASE("The last warp of a block has the threads that are left") {
  const Module module(Device("cpu_sim:0"), warp_kernels);
  const Words values = input(40), words = run(module, "equal_values", {40});
  for (Word i = 0; i < 40; ++i) {
    const Thread thread{values, i};
    CHECK(words[i] == thread.lanes([&](Word value) { return value % 5 == thread.own % 5; }));
  }
}

TEST_CASE("A warp whose lanes wait for each other in different places is a fault and not a hang") {
  const Module module(Device("cpu_sim:0"), warp_kernels);
  try {
    run(module, "never_meet", {64});
    FAIL("they met");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kernel_failed);
  }
  CHECK(run(Module(Device("cpu_sim:1"), warp_kernels), "votes", {32}).size() == 32);
}

TEST_CASE("The functions of a warp are compiled for AMD's devices and for NVIDIA's from sm_70 on") {
  if (lacks("clang++-14") || lacks("ld.lld")) return;
  const std::vector<std::string> targets{"gfx90a", "gfx1030", "sm_70", "sm_60"};
  const CompiledKernels compiled = compile(source(), targets, {.compiler = "clang", .cached = false});
  REQUIRE(compiled.images().images().size() == 4);
  const auto has = [&](std::size_t image, std::string_view name) {
    const auto bytes = compiled.images().images()[image].bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find(name) != text.npos;
  };
  for (std::size_t i = 0; i < 3; ++i) CHECK(has(i, "sum_of_block"));
  CHECK(!has(3, "sum_of_block"));  // ANYPLACE_NO_WARPS is defined there
}

}  // namespace warps_test
