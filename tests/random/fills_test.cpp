// SPDX-License-Identifier: Apache-2.0
//
// What fills write: each element is what the distribution makes of its own words, for every type; and what they take of
// the offset. The cases with the tag [place] run over the doubles, too.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include "random/random_support.h"

namespace fills_test {

using namespace anyplace;
using random::Bernoulli;
using random::Exponential;
using random::Integers;
using random::Normal;
using random::Uniform;
using test::expected;
using test::filled;
using test::place;
using test::same_bytes;

namespace {

constexpr std::int64_t count = 64 * 41 + 13;

/// Fills by a generator with a seed and an offset, and compares the bytes.
template <class T, class Distribution, class Fill>
void check_fill(DType type, const Distribution& distribution, Fill&& fill) {
  const Device device(place());
  const Generator generator(device);
  generator.manual_seed(0x123456789abcdef);
  generator.set_offset(1000);
  const auto found = filled<T>(device, count, type, [&](const StreamView& stream, const RandomTarget& target) {
    fill(generator, stream, target);
  });
  INFO(to_string(type));
  CHECK(same_bytes(found, expected(0x123456789abcdef, 1000, count, distribution)));
  const std::uint64_t group = 16 * Distribution::per;
  CHECK(generator.offset() == 1000 + (count + group - 1) / group * 64);
}

}  // namespace

TEST_CASE("Uniform elements are made of their own words", "[place]") {
  const auto fill = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
    generator.uniform(stream, target, -1.5, 2.5);
  };
  check_fill<std::uint16_t>(DType::f16, Uniform<random::Binary16>{-1.5f, 4.0f, 2.498046875f}, fill);
  check_fill<std::uint16_t>(DType::bf16, Uniform<random::Bfloat16>{-1.5f, 4.0f, 2.484375f}, fill);
  check_fill<float>(DType::f32, Uniform<random::Single>{-1.5f, 4.0f, std::nextafter(2.5f, 0.0f)}, fill);
  check_fill<double>(DType::f64, Uniform<random::Double>{-1.5, 4.0, std::nextafter(2.5, 0.0)}, fill);
}

TEST_CASE("Normal elements are made of their own words", "[place]") {
  const auto fill = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
    generator.normal(stream, target, 0.25, 3.0);
  };
  check_fill<std::uint16_t>(DType::f16, Normal<random::Binary16>{0.25f, 3.0f}, fill);
  check_fill<std::uint16_t>(DType::bf16, Normal<random::Bfloat16>{0.25f, 3.0f}, fill);
  check_fill<float>(DType::f32, Normal<random::Single>{0.25f, 3.0f}, fill);
  check_fill<double>(DType::f64, Normal<random::Double>{0.25, 3.0}, fill);
}

TEST_CASE("Exponential elements are made of their own words", "[place]") {
  const auto fill = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
    generator.exponential(stream, target, 2.0);
  };
  check_fill<std::uint16_t>(DType::f16, Exponential<random::Binary16>{0.5f}, fill);
  check_fill<std::uint16_t>(DType::bf16, Exponential<random::Bfloat16>{0.5f}, fill);
  check_fill<float>(DType::f32, Exponential<random::Single>{0.5f}, fill);
  check_fill<double>(DType::f64, Exponential<random::Double>{0.5}, fill);
}

TEST_CASE("Whole numbers are made of their own words", "[place]") {
  const auto from = [](RandomInteger first, RandomInteger last) {
    return [first, last](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
      generator.integers(stream, target, first, last);
    };
  };
  const auto bits = [](std::int64_t number) { return static_cast<std::uint64_t>(number); };
  check_fill<std::int8_t>(DType::i8, Integers<std::int8_t>{bits(-128), 256}, from(-128, 127));
  check_fill<std::int16_t>(DType::i16, Integers<std::int16_t>{bits(-5), 11}, from(-5, 5));
  check_fill<std::int32_t>(DType::i32, Integers<std::int32_t>{bits(INT32_MIN), std::uint64_t{1} << 32},
                           from(INT32_MIN, INT32_MAX));
  check_fill<std::uint8_t>(DType::u8, Integers<std::uint8_t>{7, 1}, from(7, 7));
  check_fill<std::uint16_t>(DType::u16, Integers<std::uint16_t>{0, 65536}, from(0, 65535));
  check_fill<std::uint32_t>(DType::u32, Integers<std::uint32_t>{10, 90}, from(10u, 99u));
  check_fill<std::uint64_t>(DType::u64, Integers<std::uint64_t>{1, 6}, from(1, 6));
  check_fill<std::uint64_t>(DType::u64, random::WideIntegers{0, 0}, from(0, UINT64_MAX));
  check_fill<std::uint64_t>(DType::i64, random::WideIntegers{bits(INT64_MIN), 0}, from(INT64_MIN, INT64_MAX));
  check_fill<std::uint64_t>(DType::i64, random::WideIntegers{bits(-3), (std::uint64_t{1} << 40) + 4},
                            from(-3, std::int64_t{1} << 40));
}

TEST_CASE("Bernoulli elements are made of their own words", "[place]") {
  const auto fill = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
    generator.bernoulli(stream, target, 0.25);
  };
  constexpr std::uint32_t last = 0x3fffffff;
  check_fill<std::uint8_t>(DType::boolean, Bernoulli<std::uint8_t>{1, last}, fill);
  check_fill<std::uint8_t>(DType::u8, Bernoulli<std::uint8_t>{1, last}, fill);
  check_fill<std::uint16_t>(DType::f16, Bernoulli<std::uint16_t>{0x3c00, last}, fill);
  check_fill<std::uint16_t>(DType::bf16, Bernoulli<std::uint16_t>{0x3f80, last}, fill);
  check_fill<std::uint32_t>(DType::f32, Bernoulli<std::uint32_t>{0x3f800000, last}, fill);
  check_fill<std::uint64_t>(DType::f64, Bernoulli<std::uint64_t>{0x3ff0000000000000, last}, fill);
}

TEST_CASE("A permutation has each number once, and another order each time", "[place]") {
  const Device device(place());
  const Generator generator(device);
  for (const std::int64_t n : {1, 2, 3, 255, 256, 257, 511, 512, 513, 3000}) {
    std::vector<std::vector<std::int64_t>> orders;
    for (int time = 0; time < 2; ++time) {
      const std::uint64_t before = generator.offset();
      auto order = filled<std::int64_t>(
          device, n, DType::i64,
          [&](const StreamView& stream, const RandomTarget& target) { generator.permutation(stream, target); });
      CHECK(generator.offset() == before + 512);
      orders.push_back(order);
      std::sort(order.begin(), order.end());
      std::vector<std::int64_t> all(static_cast<std::size_t>(n));
      std::iota(all.begin(), all.end(), 0);
      CHECK(order == all);
    }
    if (n > 20) CHECK(orders[0] != orders[1]);
    generator.set_offset(generator.offset() - 512);
    const auto narrow = filled<std::int32_t>(
        device, n, DType::i32,
        [&](const StreamView& stream, const RandomTarget& target) { generator.permutation(stream, target); });
    CHECK(std::vector<std::int64_t>(narrow.begin(), narrow.end()) == orders[1]);
  }
}

TEST_CASE("Another device makes the bits that cpu_sim makes", "[place]") {
  const Device here(place()), simulator("cpu_sim:1");
  const auto fill_on = [](const Device& device, const Generator& generator) {
    std::vector<float> all;
    for (const std::int64_t n : {1, 63, 64, 65, 20000}) {
      const auto part = filled<float>(device, n, DType::f32, [&](const StreamView& stream, const RandomTarget& target) {
        generator.normal(stream, target);
      });
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const Generator one(here), other(simulator);
  CHECK(same_bytes(fill_on(here, one), fill_on(simulator, other)));
  CHECK(one.get_state() == other.get_state());
}

TEST_CASE("The first elements of a fill don't depend on how many there are") {
  const Device device(place());
  const auto of = [&](std::int64_t n) {
    const Generator generator(device);
    return filled<double>(device, n, DType::f64, [&](const StreamView& stream, const RandomTarget& target) {
      generator.normal(stream, target);
    });
  };
  auto many = of(70000);
  many.resize(777);
  CHECK(same_bytes(of(777), many));
}

TEST_CASE("Fills one behind the other have no numbers in common") {
  const Device device(place());
  const Stream stream(device);
  const Generator generator(device);
  std::set<std::uint64_t> seen;
  for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 33, 1000}) {
    const Buffer buffer = Buffer::of<std::uint64_t>(stream, static_cast<std::uint64_t>(n));
    generator.integers(stream, RandomTarget(buffer, DType::u64, n), 0, UINT64_MAX);
    std::vector<std::uint64_t> host(static_cast<std::size_t>(n));
    stream.copy(host, buffer);
    stream.synchronize();
    for (const std::uint64_t number : host) CHECK(seen.insert(number).second);
  }
}

TEST_CASE("A fill by address writes what a fill of the buffer writes") {
  const Device device(place());
  const Stream stream(device);
  const Buffer buffer = Buffer::of<float>(stream, 1000);
  const Generator generator(device), same(device);
  std::vector<float> by_span(1000), by_address(1000);
  generator.uniform(stream, buffer.as<float>());
  stream.copy(by_span, buffer);
  same.uniform(stream, RandomTarget(Address(buffer.address()), DType::f32, 1000));
  stream.copy(by_address, buffer);
  stream.synchronize();
  CHECK(same_bytes(by_span, by_address));
}

TEST_CASE("No elements are nothing to do and take no numbers") {
  const Device device(place());
  const Stream stream(device);
  const Generator generator(device);
  const Buffer none;
  generator.uniform(stream, RandomTarget(none, DType::f32, 0));
  generator.permutation(stream, RandomTarget(Address(), DType::i32, 0));
  CHECK(generator.offset() == 0);
}

TEST_CASE("Uniform numbers stay below the upper end where rounding would reach it") {
  const Device device(place());
  const Generator generator(device);
  const auto most = [&](double low, double high) {
    const auto all = filled<float>(
        device, 100000, DType::f32,
        [&](const StreamView& stream, const RandomTarget& target) { generator.uniform(stream, target, low, high); });
    CHECK(std::all_of(all.begin(), all.end(),
                      [&](float x) { return x >= static_cast<float>(low) && x < static_cast<float>(high); }));
  };
  most(1.0, std::nextafter(1.0f, 2.0f));
  most(16777215.0, 16777216.0);
  most(-1e-45, 0.0);
}

TEST_CASE("Probabilities 0 and 1 are never and always") {
  const Device device(place());
  const Generator generator(device);
  const auto ones = [&](double p) {
    const auto all = filled<std::uint8_t>(
        device, 5000, DType::u8,
        [&](const StreamView& stream, const RandomTarget& target) { generator.bernoulli(stream, target, p); });
    return std::accumulate(all.begin(), all.end(), 0);
  };
  CHECK(ones(0.0) == 0);
  CHECK(ones(1.0) == 5000);
  CHECK(ones(-0.0) == 0);
}

TEST_CASE("A standard deviation of 0 gives the mean") {
  const Device device(place());
  const Generator generator(device);
  const auto all = filled<float>(device, 100, DType::f32, [&](const StreamView& stream, const RandomTarget& target) {
    generator.normal(stream, target, 2.5, 0.0);
  });
  CHECK(all == std::vector<float>(100, 2.5f));
}

TEST_CASE("Threads that fill from one generator at the same time get each number once") {
  const Device device(place());
  const Generator generator(device);
  std::vector<std::vector<std::uint64_t>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&, t] {
      const Stream stream(device);
      const Buffer buffer = Buffer::of<std::uint64_t>(stream, 16);
      for (int i = 0; i < 20; ++i) {
        std::vector<std::uint64_t> host(16);
        generator.integers(stream, buffer.as<std::uint64_t>(), 0, UINT64_MAX);
        stream.copy(host, buffer);
        stream.synchronize();
        found[t].insert(found[t].end(), host.begin(), host.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint64_t> all;
  for (const auto& part : found) all.insert(part.begin(), part.end());
  CHECK(all.size() == 4 * 20 * 16);
  CHECK(generator.offset() == 4 * 20 * 64);
}

}  // namespace fills_test
