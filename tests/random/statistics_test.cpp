// SPDX-License-Identifier: Apache-2.0
//
// Whether what is drawn is distributed as it should be: chi-square tests of counts, moments, and correlations of
// neighbours. Seeds are fixed, so each case passes always or never; a bound is what one sample in about a million goes
// beyond.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "random/random_support.h"

namespace statistics_test {

using namespace anyplace;
using test::filled;

namespace {

constexpr std::int64_t count = 100000;

/// A chi-square of so many degrees of freedom is beyond this once in a million (Wilson and Hilferty's approximation).
double bound_of(std::size_t degrees) {
  const double n = static_cast<double>(degrees), part = 2.0 / (9.0 * n);
  return n * std::pow(1.0 - part + 4.75 * std::sqrt(part), 3);
}

/// Of counts whose expectations are `expected`.
double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  return sum;
}

/// Values whose distribution function makes them even over 0 to 1.
void check_even(const std::vector<double>& values) {
  constexpr std::size_t bins = 64;
  std::vector<double> counts(bins);
  CHECK(std::all_of(values.begin(), values.end(), [](double value) { return value >= 0.0 && value <= 1.0; }));
  for (const double value : values) {
    ++counts[std::min(static_cast<std::size_t>(value * bins), bins - 1)];
  }
  CHECK(chi_square(counts, std::vector<double>(bins, static_cast<double>(values.size()) / bins)) < bound_of(bins - 1));
}

/// Elements so far apart know nothing of each other: neighbours, the other of a pair, the next counter's, the next
/// group's.
void check_uncorrelated(const std::vector<double>& values) {
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean);
  for (const std::size_t apart : {1u, 2u, 16u, 17u, 32u, 64u}) {
    double sum = 0;
    for (std::size_t i = apart; i < values.size(); ++i) sum += (values[i] - mean) * (values[i - apart] - mean);
    INFO(apart);
    CHECK(std::fabs(sum / square) < 4.9 / std::sqrt(n));
  }
}

/// What a fill of a type leaves, as doubles.
template <class T>
std::vector<double> drawn(
    DType type, const std::function<void(const Generator&, const StreamView&, const RandomTarget&)>& fill,
    double (*as_number)(T) = [](T x) { return static_cast<double>(x); }) {
  const Device device("cpu_sim:0");
  const Generator generator(device);
  generator.manual_seed(2024);
  const auto all = filled<T>(device, count, type, [&](const StreamView& stream, const RandomTarget& target) {
    fill(generator, stream, target);
  });
  std::vector<double> numbers;
  for (const T x : all) numbers.push_back(as_number(x));
  return numbers;
}

double of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}
double of_brain(std::uint16_t bits) {
  return static_cast<double>(random::same_bits<float>(static_cast<std::uint32_t>(bits) << 16));
}

double normal_function(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

const auto uniform = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.uniform(stream, target);
};
const auto normal = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.normal(stream, target, 2.0, 3.0);
};
const auto exponential = [](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
  generator.exponential(stream, target, 0.5);
};

std::vector<double> even_of_normal(std::vector<double> values) {
  for (double& value : values) value = normal_function((value - 2.0) / 3.0);
  return values;
}
std::vector<double> even_of_exponential(std::vector<double> values) {
  for (double& value : values) value = -std::expm1(-0.5 * value);
  return values;
}

}  // namespace

TEST_CASE("Uniform numbers are even and uncorrelated") {
  for (const auto& values :
       {drawn<float>(DType::f32, uniform), drawn<double>(DType::f64, uniform),
        drawn<std::uint16_t>(DType::bf16, uniform, of_brain), drawn<std::uint16_t>(DType::f16, uniform, of_half)}) {
    check_uncorrelated(values);
  }
  check_even(drawn<float>(DType::f32, uniform));
  check_even(drawn<double>(DType::f64, uniform));
  check_even(drawn<std::uint16_t>(DType::f16, uniform, of_half));
}

TEST_CASE("Normal numbers have the normal distribution and are uncorrelated") {
  for (const auto& values : {drawn<float>(DType::f32, normal), drawn<double>(DType::f64, normal)}) {
    check_even(even_of_normal(values));
    check_uncorrelated(values);
  }
  const auto half = drawn<std::uint16_t>(DType::f16, normal, of_half);
  check_uncorrelated(half);
  const double mean = std::accumulate(half.begin(), half.end(), 0.0) / count;
  CHECK(mean == Approx(2.0).margin(3.0 * 4.9 / std::sqrt(count)));
  check_uncorrelated(drawn<std::uint16_t>(DType::bf16, normal, of_brain));
}

TEST_CASE("Normal numbers have a tail on either side") {
  const auto values = drawn<float>(DType::f32, normal);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  CHECK(*least < 2.0 - 3.0 * 3.9);
  CHECK(*most > 2.0 + 3.0 * 3.9);
  CHECK(*least > 2.0 - 3.0 * 6.7);
  CHECK(*most < 2.0 + 3.0 * 6.7);
}

TEST_CASE("Exponential numbers have the exponential distribution and are above 0") {
  for (const auto& values : {drawn<float>(DType::f32, exponential), drawn<double>(DType::f64, exponential)}) {
    check_even(even_of_exponential(values));
    check_uncorrelated(values);
    CHECK(*std::min_element(values.begin(), values.end()) > 0.0);
  }
  check_uncorrelated(drawn<std::uint16_t>(DType::f16, exponential, of_half));
  check_uncorrelated(drawn<std::uint16_t>(DType::bf16, exponential, of_brain));
}

TEST_CASE("Whole numbers are even over their range") {
  const auto check = [](std::vector<double> values, double first, double numbers) {
    check_uncorrelated(values);
    for (double& value : values) value = (value - first + 0.5) / numbers;
    check_even(values);
  };
  const auto from = [](RandomInteger first, RandomInteger last) {
    return [first, last](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
      generator.integers(stream, target, first, last);
    };
  };
  check(drawn<std::int8_t>(DType::i8, from(-64, 63)), -64, 128);
  check(drawn<std::uint16_t>(DType::u16, from(0, 65535)), 0, 65536);
  check(drawn<std::int32_t>(DType::i32, from(INT32_MIN, INT32_MAX)), -0x1p31, 0x1p32);
  check(drawn<std::uint64_t>(DType::u64, from(0, UINT64_MAX)), 0, 0x1p64);
  check(drawn<std::int64_t>(DType::i64, from(-(std::int64_t{1} << 50), std::int64_t{1} << 50)), -0x1p50, 0x1p51);
}

TEST_CASE("Each number of a small range is as likely as any other") {
  const auto values =
      drawn<std::uint8_t>(DType::u8, [](const Generator& generator, const StreamView& stream,
                                        const RandomTarget& target) { generator.integers(stream, target, 1, 6); });
  std::vector<double> counts(6);
  for (const double value : values) ++counts.at(static_cast<std::size_t>(value) - 1);
  CHECK(chi_square(counts, std::vector<double>(6, count / 6.0)) < bound_of(5));
}

TEST_CASE("Bernoulli's ones are as many as the probability says, and uncorrelated") {
  for (const double p : {0.001, 0.3, 0.5, 0.97}) {
    const auto values = drawn<std::uint8_t>(
        DType::boolean, [p](const Generator& generator, const StreamView& stream, const RandomTarget& target) {
          generator.bernoulli(stream, target, p);
        });
    const double ones = std::accumulate(values.begin(), values.end(), 0.0);
    CHECK(std::fabs(ones - p * count) < 4.9 * std::sqrt(count * p * (1 - p)));
    check_uncorrelated(values);
  }
}

TEST_CASE("Each order of a few is as likely as any other") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Generator generator(device);
  constexpr int times = 2400;
  const Buffer buffer(stream, times * 256);
  for (int i = 0; i < times; ++i) {
    generator.permutation(stream, RandomTarget(buffer.sub(static_cast<std::uint64_t>(i) * 256), DType::i32, 4));
  }
  std::vector<std::int32_t> host(times * 64);
  stream.copy(host, buffer);
  stream.synchronize();
  std::map<std::array<std::int32_t, 4>, double> orders;
  for (int i = 0; i < times; ++i) {
    const std::int32_t* const at = host.data() + i * 64;
    ++orders[{at[0], at[1], at[2], at[3]}];
  }
  CHECK(orders.size() == 24);
  std::vector<double> counts;
  for (const auto& [order, seen] : orders) counts.push_back(seen);
  CHECK(chi_square(counts, std::vector<double>(24, times / 24.0)) < bound_of(23));
}

TEST_CASE("Large permutations put elements anywhere, whatever their neighbours") {
  const Device device("cpu_sim:0");
  const Generator generator(device);
  for (const std::int64_t n : {1025, 65537}) {
    std::vector<double> places, steps;
    double fixed = 0;
    const int times = static_cast<int>(131072 / n);
    for (int time = 0; time < times; ++time) {
      const auto order = filled<std::int32_t>(
          device, n, DType::i32,
          [&](const StreamView& stream, const RandomTarget& target) { generator.permutation(stream, target); });
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == static_cast<std::int32_t>(i)) ++fixed;
        // The distance round the circle to the next one: even, but for 0.
        const std::int64_t next = order[(i + 1) % order.size()];
        steps.push_back((static_cast<double>((next - order[i] + n) % n) - 0.5) / static_cast<double>(n - 1));
        // Where the first half ends up, in pairs of place and value.
        if (i % 8 == 0) places.push_back((order[i] + 0.5) / static_cast<double>(n));
      }
    }
    INFO(n);
    check_even(steps);
    check_even(places);
    CHECK(std::fabs(fixed - times) < 4.9 * std::sqrt(times) + 1);  // one on average
  }
}

}  // namespace statistics_test
