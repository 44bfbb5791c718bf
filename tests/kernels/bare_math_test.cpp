// SPDX-License-Identifier: Apache-2.0
// The math functions of PTX and AMD's code objects (device_code/bare_math.h), which are plain C++, on the host: as
// exact as docs/kernels.md says, beside the C library's in long double, and their ends.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#define ANYPLACE_DEVICE_FUNCTION static inline
#include "anyplace/device_code/bare_math.h"

namespace bare_math_test {
namespace {

namespace bare = ::anyplace::device_code::math;
using Exact = long double;

constexpr double infinite = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();

/// How many units in the last place of a double they are apart.
double distance(double got, Exact wanted) {
  const auto rounded = static_cast<double>(wanted);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : infinite;
  if (got == rounded) return 0;
  const double unit = std::nextafter(std::fabs(rounded), infinite) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<Exact>(got) - wanted) / unit);
}

/// Numbers within limits; of all magnitudes if both are 0.
struct Numbers {
  double least, greatest;
  std::mt19937_64 random{20261126};
  double next() {
    if (least != greatest) return std::uniform_real_distribution<double>(least, greatest)(random);
    return __builtin_bit_cast(double, random());
  }
};

void check_1(double (*function)(double), Exact (*exact)(Exact), double least, double greatest, double limit) {
  Numbers numbers{least, greatest};
  double worst = 0, at = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = numbers.next(), apart = distance(function(x), exact(x));
    if (apart > worst) worst = apart, at = x;
  }
  INFO("worst at " << at);
  CHECK(worst <= limit);
}
void check_2(double (*function)(double, double), Exact (*exact)(Exact, Exact), double least, double greatest,
             double limit) {
  Numbers numbers{least, greatest};
  double worst = 0, at_x = 0, at_y = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = numbers.next(), y = numbers.next(), apart = distance(function(x, y), exact(x, y));
    if (apart > worst) worst = apart, at_x = x, at_y = y;
  }
  INFO("worst at " << at_x << ", " << at_y);
  CHECK(worst <= limit);
}

}  // namespace

#define CHECK_1(name, least, greatest, limit) \
  SECTION(#name " from " #least " to " #greatest) check_1(bare::name, ::name##l, least, greatest, limit)
#define CHECK_2(name, least, greatest, limit) \
  SECTION(#name " from " #least " to " #greatest) check_2(bare::name, ::name##l, least, greatest, limit)

TEST_CASE("Math functions of devices without a library are as exact as promised") {
  CHECK_1(exp, -745, 710, 2);
  CHECK_1(exp2, -1074, 1024, 2);
  CHECK_1(expm1, -40, 700, 4);
  CHECK_1(expm1, -1, 1, 4);
  CHECK_1(log, 0, 0, 1);
  CHECK_1(log, 0.5, 2, 1);
  CHECK_1(log2, 0, 0, 1);
  CHECK_1(log10, 0, 0, 1);
  CHECK_1(log1p, -1, 1, 4);
  CHECK_1(log1p, 0, 0, 4);
  CHECK_1(cbrt, 0, 0, 1);
  CHECK_1(sin, -10, 10, 1);
  CHECK_1(sin, 0, 0, 1);
  CHECK_1(cos, -1e6, 1e6, 1);
  CHECK_1(cos, 0, 0, 1);
  CHECK_1(tan, 0, 0, 4);
  CHECK_1(atan, -3, 3, 4);
  CHECK_1(atan, 0, 0, 4);
  CHECK_1(asin, -1, 1, 4);
  CHECK_1(acos, -1, 1, 4);
  CHECK_1(sinh, -710, 710, 4);
  CHECK_1(sinh, -2, 2, 4);
  CHECK_1(cosh, -710, 710, 4);
  CHECK_1(tanh, -2, 2, 4);
  CHECK_1(asinh, 0, 0, 4);
  CHECK_1(acosh, 1, 3, 4);
  CHECK_1(acosh, 1, 1e300, 4);
  CHECK_1(atanh, -1, 1, 4);
  CHECK_1(erf, -3, 3, 8);
  CHECK_1(erfc, -2, 2, 16);
  CHECK_1(erfc, 2, 26, 8);
  CHECK_1(round, -10, 10, 0);
  CHECK_2(pow, 0, 10, 2);
  CHECK_2(pow, 0, 0, 2);
  CHECK_2(atan2, -2, 2, 4);
  CHECK_2(atan2, 0, 0, 4);
  CHECK_2(hypot, -3, 3, 4);
  CHECK_2(fmod, -10, 10, 0);
  CHECK_2(fmod, 0, 0, 0);
  CHECK_2(fdim, -3, 3, 0);
  CHECK_2(copysign, -3, 3, 0);
}

TEST_CASE("Math functions of devices without a library have the ends that C's have") {
  for (const double x :
       {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, 1e300, -1e300, 5e-324, infinite, -infinite, none}) {
    for (const double y : {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -3.0, 1e300, infinite, -infinite, none}) {
      INFO("x is " << x << ", y is " << y);
      CHECK(distance(bare::pow(x, y), ::powl(x, y)) <= 2);
      CHECK(distance(bare::atan2(x, y), ::atan2l(x, y)) <= 2);
      CHECK(distance(bare::fmod(x, y), ::fmodl(x, y)) == 0);
      if (!std::isnan(x) && !std::isnan(y)) CHECK(distance(bare::hypot(x, y), ::hypotl(x, y)) <= 2);
    }
    INFO("x is " << x);
    CHECK(distance(bare::exp(x), ::expl(x)) <= 2);
    CHECK(distance(bare::log(x), ::logl(x)) <= 1);
    CHECK(distance(bare::log1p(x), ::log1pl(x)) <= 4);
    CHECK(distance(bare::sin(x), ::sinl(x)) <= 1);
    CHECK(distance(bare::tan(x), ::tanl(x)) <= 4);
    CHECK(distance(bare::tanh(x), ::tanhl(x)) <= 4);
    CHECK(distance(bare::cbrt(x), ::cbrtl(x)) <= 1);
    CHECK(distance(bare::erf(x), ::erfl(x)) <= 8);
    CHECK(distance(bare::acos(x), ::acosl(x)) <= 4);
    CHECK(distance(bare::atanh(x), ::atanhl(x)) <= 4);
  }
}

}  // namespace bare_math_test
