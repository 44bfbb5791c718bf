// SPDX-License-Identifier: Apache-2.0
// Elements rebuilt from docs/random.md alone, with nothing of the library's.
#include <array>
#include <cmath>
#include <numeric>

#include "random/random_support.h"

namespace by_hand_test {

using namespace anyplace;
using test::filled;

namespace {

/// Products of 64 bits.
__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t seed = 0x9876543210fedcba, offset = 1 << 20;
constexpr std::int64_t count = 200;

using Words = std::array<std::uint32_t, 4>;

Words philox(std::uint64_t counter) {
  Words w{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * w[0], b = std::uint64_t{0xCD9E8D57u} * w[2];
    w = {static_cast<std::uint32_t>(b >> 32) ^ w[1] ^ k0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ w[3] ^ k1, static_cast<std::uint32_t>(a)};
  }
  return w;
}

/// The words of the counter that element `i` is made of, where a counter gives `per`, and its number among those.
struct Source {
  Words w;
  std::size_t e;

  Source(std::int64_t i, std::int64_t per) {
    const std::int64_t group = i / (16 * per), in_group = i % (16 * per);
    w = philox(offset / 4 + static_cast<std::uint64_t>(16 * group + in_group % 16));
    e = static_cast<std::size_t>(in_group / 16);
  }
};

template <class T, class Fill>
std::vector<T> made(DType type, Fill&& fill, std::int64_t elements = count) {
  const Device device("cpu_sim:0");
  const Generator generator(device);
  generator.manual_seed(seed);
  generator.set_offset(offset);
  return filled<T>(device, elements, type,
                   [&](const StreamView& stream, const RandomTarget& target) { fill(generator, stream, target); });
}

double in_double(const Words& w, std::size_t e) { return (w[2 * e] >> 5) * 0x1p-27 + (w[2 * e + 1] >> 6) * 0x1p-53; }
float inner(std::uint32_t word) {
  const float u = static_cast<float>(word >> 1) * 0x1p-31f + 0x1p-32f;
  return std::min(u, 1.0f - 0x1p-24f);
}

}  // namespace

TEST_CASE("Elements are made of the bits that docs/random.md says") {
  const auto floats = made<float>(DType::f32, [](auto& g, auto& s, auto& t) { g.uniform(s, t); });
  const auto doubles = made<double>(DType::f64, [](auto& g, auto& s, auto& t) { g.uniform(s, t); });
  const auto waits = made<float>(DType::f32, [](auto& g, auto& s, auto& t) { g.exponential(s, t); });
  const auto long_waits = made<double>(DType::f64, [](auto& g, auto& s, auto& t) { g.exponential(s, t); });
  const auto dice = made<std::uint32_t>(DType::u32, [](auto& g, auto& s, auto& t) { g.integers(s, t, 1, 1000); });
  const auto wide =
      made<std::uint64_t>(DType::u64, [](auto& g, auto& s, auto& t) { g.integers(s, t, 7, 5'000'000'000'000); });
  const auto coins = made<std::uint8_t>(DType::u8, [](auto& g, auto& s, auto& t) { g.bernoulli(s, t, 0.3); });
  for (std::int64_t i = 0; i < count; ++i) {
    INFO(i);
    const auto at = static_cast<std::size_t>(i);
    const Source four(i, 4), two(i, 2), one(i, 1);
    CHECK(floats[at] == static_cast<float>(four.w[four.e] >> 8) * 0x1p-24f);
    CHECK(doubles[at] == in_double(two.w, two.e));
    CHECK(waits[at] == Approx(-std::log(static_cast<double>(inner(four.w[four.e])))).epsilon(1e-6));
    CHECK(long_waits[at] == Approx(-std::log(in_double(two.w, two.e) + 0x1p-54)).epsilon(1e-14));
    const Wide x = static_cast<std::uint64_t>(two.w[2 * two.e]) << 32 | two.w[2 * two.e + 1];
    CHECK(dice[at] == 1 + static_cast<std::uint32_t>(1000 * x >> 64));
    const Wide high = static_cast<std::uint64_t>(one.w[0]) << 32 | one.w[1];
    const Wide low = static_cast<std::uint64_t>(one.w[2]) << 32 | one.w[3];
    constexpr std::uint64_t numbers = 4'999'999'999'994;
    CHECK(wide[at] == 7 + static_cast<std::uint64_t>((high * numbers + (low * numbers >> 64)) >> 64));
    CHECK(coins[at] == (four.w[four.e] < static_cast<std::uint64_t>(std::nearbyint(0.3 * 0x1p32)) ? 1 : 0));
  }
}

TEST_CASE("Normal elements have the radius and the angle that docs/random.md says") {
  const double quarter = std::acos(0.0);
  const auto floats = made<float>(DType::f32, [](auto& g, auto& s, auto& t) { g.normal(s, t); });
  const auto doubles = made<double>(DType::f64, [](auto& g, auto& s, auto& t) { g.normal(s, t); });
  for (std::int64_t i = 0; i < count; ++i) {
    INFO(i);
    const auto at = static_cast<std::size_t>(i);
    const Source four(i, 4), two(i, 2);
    const std::size_t pair = four.e / 2 * 2;
    const std::uint32_t turned = four.w[pair + 1];
    const double angle = ((turned >> 30) + static_cast<std::int32_t>(turned << 2) * 0x1p-32) * quarter;
    const double radius = std::sqrt(-2 * std::log(static_cast<double>(inner(four.w[pair]))));
    CHECK(floats[at] ==
          Approx(radius * (four.e % 2 == 0 ? std::cos(angle) : std::sin(angle))).epsilon(1e-5).margin(1e-6));
    const double long_angle = ((two.w[2] >> 30) + static_cast<std::int32_t>(two.w[2] << 2) * 0x1p-32 +
                               static_cast<std::int32_t>(two.w[3] >> 6) * 0x1p-56) *
                              quarter;
    const double long_radius = std::sqrt(-2 * std::log(in_double(two.w, 0) + 0x1p-54));
    CHECK(
        doubles[at] ==
        Approx(long_radius * (two.e == 0 ? std::cos(long_angle) : std::sin(long_angle))).epsilon(1e-12).margin(1e-14));
  }
}

TEST_CASE("A permutation of few elements is the shuffle that docs/random.md says") {
  const auto found = made<std::int32_t>(DType::i32, [](auto& g, auto& s, auto& t) { g.permutation(s, t); });
  std::vector<std::int32_t> expected(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const Words w = philox(offset / 4 + i / 2);
    const Wide x = static_cast<std::uint64_t>(w[i % 2 * 2]) << 32 | w[i % 2 * 2 + 1];
    const auto other = static_cast<std::size_t>((i + 1) * x >> 64);
    expected[i] = expected[other];
    expected[other] = static_cast<std::int32_t>(i);
  }
  CHECK(found == expected);
}

}  // namespace by_hand_test
