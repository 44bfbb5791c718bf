// SPDX-License-Identifier: Apache-2.0
//
// The fixed logarithm, sine and cosine: how far they are from the true values, which long double stands for, in units
// of the last place of the result. docs/random.md says the same numbers.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "random/fixed_math.h"

namespace math_test {

using namespace anyplace::random;

/// How many last places of T `x` is away from `exact`.
template <class T>
double ulps(T x, long double exact) {
  const int exponent = exact == 0 ? 0 : std::ilogb(exact);
  const long double place = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(static_cast<long double>(x) - exact) / place);
}

/// Numbers above 0 and below 1 of all sizes down to 2^-least, evenly over the bits.
template <class T, class Body>
void for_fractions(int least, Body&& body) {
  std::uint64_t state = 1;
  for (int i = 0; i < 60000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const T part = static_cast<T>(state >> 11) * T(0x1p-53);
    body(std::ldexp((T(1) + part) / 2, -static_cast<int>(state % static_cast<unsigned>(least))));
  }
  for (int i = 1; i < 2000; ++i) body(T(1) - static_cast<T>(i) * std::numeric_limits<T>::epsilon() / 2);
}

template <class T>
double worst_log(int least) {
  double worst = 0;
  for_fractions<T>(least, [&](T x) {
    if (x < T(1)) worst = std::max(worst, ulps(log_of(x), std::log(static_cast<long double>(x))));
  });
  return worst;
}

TEST_CASE("The logarithm is within one last place") {
  CHECK(worst_log<float>(32) < 1.0);
  CHECK(worst_log<double>(54) < 1.0);
  CHECK(log_of(1.0f) == 0.0f);
  CHECK(log_of(1.0) == 0.0);
}

template <class T>
double worst_turn() {
  const long double half_pi = std::acos(-1.0L) / 2;
  double worst = 0;
  std::uint64_t state = 1;
  for (int i = 0; i < 60000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const T t = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53 - 0.5);
    const SinCos<T> found = sin_cos_within(t);
    worst = std::max(worst, ulps(found.sine, std::sin(half_pi * t)));
    worst = std::max(worst, ulps(found.cosine, std::cos(half_pi * t)));
  }
  return worst;
}

TEST_CASE("Sine and cosine are within two last places") {
  CHECK(worst_turn<float>() < 2.0);
  CHECK(worst_turn<double>() < 2.0);
}

template <class T>
double worst_normal(int least) {
  const long double half_pi = std::acos(-1.0L) / 2;
  double worst = 0;
  for_fractions<T>(least, [&](T x) {
    if (x >= T(1)) return;
    const T t = x / 2;
    const T found = root_of(T(-2) * log_of(x)) * sin_cos_within(t).cosine;
    const long double exact = std::sqrt(-2 * std::log(static_cast<long double>(x))) * std::cos(half_pi * t);
    worst = std::max(worst, ulps(found, exact));
  });
  return worst;
}

TEST_CASE("A normal number is within four last places") {
  CHECK(worst_normal<float>(32) < 4.0);
  CHECK(worst_normal<double>(54) < 4.0);
}

TEST_CASE("Quarters of a turn turn sine and cosine") {
  for (std::uint32_t quarter = 0; quarter < 9; ++quarter) {
    for (const double t : {-0.5, -0.25, 0.0, 0.125, 0.5}) {
      const double angle = (quarter + t) * std::acos(-1.0) / 2;
      const SinCos<double> found = sin_cos(quarter, t);
      CHECK(found.sine == Approx(std::sin(angle)).margin(1e-14));
      CHECK(found.cosine == Approx(std::cos(angle)).margin(1e-14));
    }
  }
}

}  // namespace math_test
