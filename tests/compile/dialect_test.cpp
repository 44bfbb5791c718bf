// SPDX-License-Identifier: Apache-2.0
// The kernels of dialect.cu, compiled out of their text for cpu_sim or the place that ANYPLACE_TEST_PLACE names, and
// what each must compute, written again without a kernel.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "compile/support.h"

namespace compile_test {
namespace {

using Word = std::uint32_t;
using Words = std::vector<Word>;

constexpr Word threads = 64, blocks = 4, count = threads * blocks, shared_words = 2 * threads;

std::string content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string source() { return content(ANYPLACE_TEST_DIALECT); }

Words input() {
  Words values(count);
  for (Word i = 0; i < count; ++i) values[i] = (i * 2654435761u) ^ (i * i * 40503u) >> 3;
  return values;
}

/// What one thread of a block writes, of what its block reads.
struct Thread {
  const Words& in;
  Word place, thread = place % threads, block = place / threads, own = in[place];
  Word of_block(Word other) const { return in[block * threads + other % threads]; }
};

Words each(const std::function<Word(const Thread&)>& function) {
  const Words in = input();
  Words out;
  for (Word i = 0; i < count; ++i) out.push_back(function({in, i}));
  return out;
}

/// What is written into the first words by all threads together.
Words first(Words values) {
  values.resize(count);
  return values;
}

template <class T>
void put(Words& words, std::size_t at, T value) {
  std::memcpy(&words[at], &value, sizeof(value));
}

// ---- Where a thread is, and the language

Word position(const Thread& t) {
  return t.thread % 16 | t.thread / 16 % 2 << 4 | t.thread / 32 << 8 | t.block % 2 << 12 | t.block / 2 << 16;
}

Word grid_stride(const Thread& t) {
  Word sum = 0;
  for (Word i = t.place; i < 4 * count; i += count) sum += t.own + i;
  return sum;
}

template <class T>
T repeated(T value, int times) {
  return times == 0 ? value : repeated<T>(value * 3 + 1, times - 1);
}

Word complex_power(const Thread& t) {
  int real = static_cast<int>(t.own % 7), imaginary = 1;
  for (int i = 0; i < 6; ++i) {
    const int before = real;
    real = 2 * before + imaginary;
    imaginary = 2 * imaginary - before;
  }
  return static_cast<Word>(real * 31 + imaginary);
}

Word bits_times_thread(const Thread& t) {
  Word sum = 0;
  for (Word bit = 0; bit < 32; ++bit) sum += (t.own >> bit & 1) * bit * t.thread;
  return sum;
}

Word quickened_collatz(const Thread& t) {
  Word value = t.own % 1000 + 1, steps = 0;
  while (value != 1 && steps < 100) {
    if (value % 4 == 0) {
      value /= 4;
    } else {
      if (value % 4 == 2) value /= 2;
      value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    }
    ++steps;
  }
  return steps << 16 | value;
}

Word fourth_of_eight(const Thread& t) {
  Words own;
  for (Word i = 0; i < 8; ++i) own.push_back(t.in[(t.place + 5 * i) % count]);
  std::sort(own.begin(), own.end());
  return own[3];
}

Word product_of_primes(const Thread& t) {
  const Words primes{2, 3, 5, 7, 11, 13, 17, 19};
  return primes[t.own % 8] * primes[t.thread % 8];
}

Word outer_bytes_swapped(const Thread& t) { return (t.own & 0x00ffff00u) | t.own << 24 | t.own >> 24; }

// ---- Numbers

Word long_integers(const Thread& t) {
  const std::uint64_t wide = t.own * 0x100000001ull + t.thread;
  const auto negative = -static_cast<std::int64_t>(wide / 8);
  const std::uint64_t folded = static_cast<std::uint64_t>(negative / 1000 * 7 + negative % 1000) ^ wide * 32;
  return static_cast<Word>(folded ^ folded >> 32);
}

Word small_integers(const Thread& t) {
  const int byte = static_cast<std::int8_t>(t.own), half = static_cast<std::int16_t>(t.own >> 8);
  return static_cast<Word>(byte * half) + static_cast<Word>((byte + 1) & 0xff) + static_cast<Word>((half - 1) & 0xffff);
}

Word floats(const Thread& t) {
  const double value = (t.own % 4096) / 16.0 - 100;
  const double sum = std::floor(value) + 2 * std::ceil(value) + 3 * std::trunc(value) + 5 * std::nearbyint(value) +
                     std::abs(value) + std::min(value, 7.0) + std::max(value, 9.0);
  return std::bit_cast<Word>(static_cast<float>(sum / 2 + 0.25));
}

Word least_and_greatest(const Thread& t) {
  const int value = static_cast<int>(t.own % 200) - 100;
  const int sum = std::min(value, 10) * 1000 + std::max(value, -10) * 100 + std::abs(value);
  return static_cast<Word>(sum) + std::max(t.own, 5u);
}

Word reversed_bits(Word value) {
  Word result = 0;
  for (int i = 0; i < 32; ++i) result |= (value >> i & 1) << (31 - i);
  return result;
}

Word bits(const Thread& t) {
  const auto first_set = t.own == 0 ? 0 : static_cast<Word>(std::countr_zero(t.own)) + 1;
  const Word counts =
      static_cast<Word>(std::popcount(t.own)) | static_cast<Word>(std::countl_zero(t.own)) << 8 | first_set << 16;
  return counts ^ reversed_bits(t.own) ^ static_cast<Word>(t.own * 0x9e3779b9ull >> 32);
}

Word long_bits(const Thread& t) {
  const std::uint64_t value = t.own * 0x100000001ull << 3;
  std::uint64_t reversed = 0;
  for (int bit = 0; bit < 64; ++bit) reversed |= (value >> bit & 1) << (63 - bit);
  const auto of = [](auto number) { return static_cast<Word>(number); };
  return of(reversed) + of(std::popcount(value)) * 3 + of(std::countl_zero(value >> 9)) * 5 +
         (value == 0 ? 0 : of(std::countr_zero(value)) + 1) * 7;
}

Word whole_numbers(const Thread& t) {
  const Word x = t.own % 8 + 1;
  return (x * x + x + x + 1 + x + 5 * x + 1 + 1 + 1 + x + x) << 16 | (x + (1u << x) + 2 + x);
}

Word vectors(const Thread& t) {
  return t.own + t.in[(t.place + 1) % count] * t.thread + t.block + static_cast<Word>(1.5 * t.thread) + t.own % 256 + 6;
}

// ---- Shared memory and barriers

Word sum_until(const Thread& t, Word last) {
  Word sum = 0;
  for (Word i = 0; i <= last; ++i) sum += t.of_block(i);
  return sum;
}

Word product(const Thread& t) {
  Word sum = 0;
  for (Word part = 0; part < blocks; ++part) {
    for (Word i = 0; i < 8; ++i) {
      sum += t.in[(t.block * threads + part * 16 + t.thread / 8 * 8 + i) % count] *
             t.in[part * threads + i * 8 + t.thread % 8];
    }
  }
  return sum;
}

Word after_a_barrier_in_some_blocks(const Thread& t) {
  const Word other = t.thread + 2;
  return t.block % 2 == 0 ? t.of_block(other ^ 1) + 1 : t.of_block(other);
}

Word in_bin(const Thread& t) {
  Word sum = 0;
  for (Word i = 0; i < threads; ++i) sum += t.thread < 16 && t.of_block(i) % 16 == t.thread;
  return sum;
}

// ---- Atomic functions

Words atomics() {
  Words out(count);
  std::uint64_t wide = 0;
  int least = 0;
  for (const Word value : input()) {
    out[0] += value;
    out[1] -= value;
    out[2] = std::max(out[2], value);
    least = std::min(least, -static_cast<int>(value % 1000));
    out[4] |= value;
    out[5] ^= value;
    wide += std::uint64_t{value} << 16;
  }
  put(out, 3, least);
  out[6] = count % 100;
  out[7] = 100 - count % 100;
  put(out, 8, wide);
  put(out, 10, 0.5f * count);
  put(out, 12, 0.25 * count);
  out[14] = input()[7];
  return out;
}

Word greatest_remainder() {
  Word greatest = 0;
  for (const Word value : input()) greatest = std::max(greatest, value % 10007);
  return greatest;
}

Words sums_of_blocks() {
  const Words in = input();
  Words out(count);
  for (Word i = 0; i < count; ++i) {
    out[1 + i / threads] += in[i];
    out[0] += in[i] * (i / threads + 1);
  }
  out[10] = blocks;
  return out;
}

struct Expected {
  const char* kernel;
  Words words;
};

std::vector<Expected> expected() {
  return {
      {"positions", each(position)},
      {"dimensions", each([](const Thread&) { return 32u | 4u << 8 | 2u << 16; })},
      {"grid_stride", each(grid_stride)},
      {"templates", each([](const Thread& t) {
         return repeated<Word>(t.own, 5) ^ static_cast<Word>(repeated<std::int64_t>(t.own, 20) >> 32);
       })},
      {"classes", each(complex_power)},
      {"lambdas", each(bits_times_thread)},
      {"switches", each(quickened_collatz)},
      {"local_arrays", each(fourth_of_eight)},
      {"constants", each(product_of_primes)},
      {"unions", each(outer_bytes_swapped)},
      {"returns_early", each([](const Thread& t) { return t.thread % 3 == 0 ? 0 : t.own + 1; })},
      {"long_integers", each(long_integers)},
      {"small_integers", each(small_integers)},
      {"floats", each(floats)},
      {"roots", each([](const Thread& t) { return t.own % 1024 | 0x3f800000u >> 12; })},
      {"doubles", each([](const Thread& t) { return t.own ^ static_cast<Word>(t.own * 1048577ull % 1024); })},
      {"least_and_greatest", each(least_and_greatest)},
      {"bits", each(bits)},
      {"long_bits", each(long_bits)},
      {"mathematics", each(whole_numbers)},
      {"vectors", each(vectors)},
      {"reverses", each([](const Thread& t) { return t.of_block(threads - 1 - t.thread); })},
      {"dynamic_arrays", each([](const Thread& t) { return t.of_block(t.thread + 1) + threads - 1 - t.thread; })},
      {"extern_arrays", each([](const Thread& t) { return t.of_block(t.thread + 3); })},
      {"extern_arrays_of_the_file",
       each([](const Thread& t) { return t.of_block(t.thread + 1) + threads - 1 - t.thread; })},
      {"extern_arrays_of_a_template", each([](const Thread& t) { return t.of_block(t.thread + 3); })},
      {"tree_sum", each([](const Thread& t) { return sum_until(t, threads - 1) + t.thread; })},
      {"running_sum", each([](const Thread& t) { return sum_until(t, t.thread); })},
      {"transpose", each([](const Thread& t) { return t.of_block(t.thread % 8 * 8 + t.thread / 8); })},
      {"product", each(product)},
      {"barrier_under_a_condition", each(after_a_barrier_in_some_blocks)},
      {"histogram", each(in_bin)},
      {"atomics_of_words", atomics()},
      {"compare_and_swap", first({greatest_remainder()})},
      {"last_block", sums_of_blocks()},
  };
}

/// Runs each kernel on the device and compares.
void check_kernels(const Device& device, const Module& module) {
  const Stream stream(device);
  const Buffer in = Buffer::of<Word>(stream, count), out = Buffer::of<Word>(stream, count);
  const Words values = input();
  stream.copy(in, values);
  for (const Expected& one : expected()) {
    INFO(one.kernel);
    Words words(count);
    stream.memset8(out, 0);
    stream.launch(module.kernel(one.kernel), {Dim3{2, 2}, Dim3{16, 2, 2}, shared_words * sizeof(Word)}, out, in);
    stream.copy(words, out);
    stream.synchronize();
    CHECK(words == one.words);
  }
}

}  // namespace

TEST_CASE("Kernels that use all of the language compute the same everywhere", "[place]") {
  const char* const named = std::getenv("ANYPLACE_TEST_PLACE");
  const Device device(named == nullptr ? "cpu_sim:0" : named);
  if (const char* const file = std::getenv("ANYPLACE_TEST_SPIRV")) {
    const std::string bytes = content(file);
    const KernelImage images[] = {{.format = "spirv", .architecture = {}, .data = bytes.data(), .size = bytes.size()}};
    check_kernels(device, Module(device, KernelImages(file, images)));
  } else {
    check_kernels(device, Module::compile(device, source()));
  }
}

TEST_CASE("Kernels that use all of the language compute the same if Clang compiles them for the host") {
  bool compiled = false;
  for (const std::string clang : {"clang++-14", "clang++-19"}) {
    if (std::system(("command -v " + clang + " >/dev/null").c_str()) != 0) continue;
    CAPTURE(clang);
    const OwnCache cache;
    test::set_env("ANYPLACE_CXX", clang);
    const Device device("cpu_sim:0");
    check_kernels(device, Module::compile(device, source()));
    compiled = true;
  }
  if (!compiled)
    std::cout << "ANYPLACE_TEST_SKIPPED: there is no Clang (Debian: apt-get install clang-14, 13: clang-19)\n";
}

TEST_CASE("Kernels that use all of the language compute the same without optimisation") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  check_kernels(device, Module::compile(device, source(), {.debug = true}));
}

TEST_CASE("Kernels that use all of the language compute the same out of SPIR-V on the host") {
  const OwnCache cache;
  const Device device("cpu_sim:0");
  if (!takes_images(device, "spirv")) {
    std::cout
        << "ANYPLACE_TEST_SKIPPED: there are no programs for SPIR-V (Debian: apt-get install clang-14 llvm-spirv-14)\n";
    return;
  }
  const std::string targets[] = {"spirv"};
  const CompiledKernels made = compile(source(), targets);
  check_kernels(device, Module(device, made.images()));
}

TEST_CASE("Every compiler that is there makes images of kernels that use all of the language") {
  const OwnCache cache;
  for (const Compiler& compiler : compilers()) {
    for (const std::string& format : compiler.formats) {
      const auto is_it = [&](const MissingFormat& one) { return one.format == format; };
      const bool can = compiler.usable && std::none_of(compiler.missing.begin(), compiler.missing.end(), is_it);
      if (!can) continue;
      INFO(compiler.name << " makes " << format);
      // CUDA's own architectures add doubles atomically from sm_60 on.
      const std::string targets[] = {format == "ptx" ? "sm_75" : format == "hsaco" ? "gfx90a" : format};
      const CompiledKernels made = compile(source(), targets, {.compiler = compiler.name});
      REQUIRE(made.images().images().size() == 1);
      CHECK(made.images().images()[0].format == format);
    }
  }
}

}  // namespace compile_test
