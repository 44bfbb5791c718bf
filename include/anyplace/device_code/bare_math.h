// SPDX-License-Identifier: Apache-2.0
//
// math.h for PTX and AMD's code objects without the vendor's device library, in plain arithmetic. Only bare.h includes
// it.
//
// Doubles are computed from series on a small interval, to which the argument is reduced; a number that needs more than
// 53 bits on the way is a sum of two (Pair). Floats are computed as doubles, and are so rounded correctly nearly
// always, but are as slow as doubles are on the device; the fast variants (__expf) aren't here. docs/kernels.md says
// how exact they are, and tests/kernels/bare_math_test.cpp checks that on the host. -ffast-math makes them less exact.
#pragma once

#if defined(ANYPLACE_DEVICE_FUNCTION)

namespace anyplace::device_code::math {

ANYPLACE_DEVICE_FUNCTION unsigned long long bits_of(double x) { return __builtin_bit_cast(unsigned long long, x); }
ANYPLACE_DEVICE_FUNCTION double of_bits(unsigned long long bits) { return __builtin_bit_cast(double, bits); }
ANYPLACE_DEVICE_FUNCTION double infinity() { return of_bits(0x7ff0000000000000ull); }
ANYPLACE_DEVICE_FUNCTION double not_a_number() { return of_bits(0x7ff8000000000000ull); }
ANYPLACE_DEVICE_FUNCTION bool is_nan(double x) { return (bits_of(x) & ~(1ull << 63)) > 0x7ff0000000000000ull; }
ANYPLACE_DEVICE_FUNCTION bool is_infinite(double x) { return (bits_of(x) & ~(1ull << 63)) == 0x7ff0000000000000ull; }
ANYPLACE_DEVICE_FUNCTION bool is_negative(double x) { return bits_of(x) >> 63 != 0; }
ANYPLACE_DEVICE_FUNCTION double with_sign(double x, double sign) {
  return of_bits((bits_of(x) & ~(1ull << 63)) | (bits_of(sign) & 1ull << 63));
}
ANYPLACE_DEVICE_FUNCTION double magnitude(double x) { return with_sign(x, 0.0); }

/// x * 2^k. In two steps, so that a subnormal result is rounded once.
ANYPLACE_DEVICE_FUNCTION double scaled(double x, int k) {
  const int half = k / 2;
  return x * of_bits(static_cast<unsigned long long>(half + 1023) << 52) *
         of_bits(static_cast<unsigned long long>(k - half + 1023) << 52);
}

struct Pair {
  double high, low;  ///< low is what high lacks
};

// ---- Logarithms and powers

/// 1 + x + x^2/2 + ... but for the 1: for |x| <= 0.35, to the last bit but one.
ANYPLACE_DEVICE_FUNCTION double exp_series(double x) {
  double sum = 1.0 / 15;
  for (int k = 14; k >= 2; --k) sum = (1.0 + x * sum) * (1.0 / k);
  return x + x * x * sum;
}
constexpr double log2_high = 0x1.62e42fefa39efp-1, log2_low = 0x1.abc9e3b39803fp-56;  // of e

/// e^(x.high + x.low).
ANYPLACE_DEVICE_FUNCTION double exp(Pair x) {
  if (is_nan(x.high)) return x.high;
  if (x.high > 709.79) return infinity();
  if (x.high < -745.2) return 0.0;
  const double k = __builtin_rint(x.high * 0x1.71547652b82fep+0);
  const double rest = __builtin_fma(-k, log2_high, x.high) + (x.low - k * log2_low);
  return scaled(1.0 + exp_series(rest), static_cast<int>(k));
}
ANYPLACE_DEVICE_FUNCTION double exp(double x) { return exp(Pair{x, 0.0}); }
ANYPLACE_DEVICE_FUNCTION double exp2(double x) {
  if (is_nan(x)) return x;
  if (x >= 1024.0) return infinity();
  if (x < -1075.0) return 0.0;
  const double k = __builtin_rint(x);
  return scaled(1.0 + exp_series((x - k) * log2_high), static_cast<int>(k));
}
ANYPLACE_DEVICE_FUNCTION double expm1(double x) { return magnitude(x) <= 0.35 ? exp_series(x) : exp(x) - 1.0; }

/// ln(x) of a finite x > 0, to some 60 bits: ln(2^k m) = k ln 2 + 2 atanh((m - 1) / (m + 1)).
ANYPLACE_DEVICE_FUNCTION Pair log_pair(double x) {
  int k = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    k = -54;
  }
  k += static_cast<int>(bits_of(x) >> 52) - 1023;
  double m = of_bits((bits_of(x) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++k;
  }
  const double above = m - 1.0, sum = m + 1.0, sum_low = m - (sum - 1.0);
  const double s = above / sum;
  const double s_low = (__builtin_fma(-s, sum, above) - s * sum_low) / sum;
  const double z = s * s;
  double series = 0.0;
  for (int n = 23; n >= 5; n -= 2) series = series * z + 1.0 / n;
  const double cube = s * z, cube_low = __builtin_fma(s, z, -cube) + s * __builtin_fma(s, s, -z);
  // 2 (s + s^3 / 3 + the rest), the greatest part first.
  const double third = cube * (1.0 / 3),
               third_low = __builtin_fma(-3.0, third, cube) * (1.0 / 3) + cube_low * (1.0 / 3);
  const double tail = s_low + (third_low + (cube * z * series + s_low * z));
  const double high = __builtin_fma(k, log2_high, 2.0 * s);
  const double high_low = __builtin_fma(k, log2_high, -high) + 2.0 * s + k * log2_low;
  const double total = high + 2.0 * third;
  const double low = (high - total) + 2.0 * third + (high_low + 2.0 * tail), rounded = total + low;
  return {rounded, low - (rounded - total)};
}
/// log(x) / log(base) for the Pair 1 / log(base).
ANYPLACE_DEVICE_FUNCTION double log_in_base(double x, Pair base) {
  if (is_nan(x) || x == infinity()) return x;
  if (x == 0.0) return -infinity();
  if (x < 0.0) return not_a_number();
  const Pair of_x = log_pair(x);
  const double high = of_x.high * base.high;
  return high + (__builtin_fma(of_x.high, base.high, -high) + (of_x.high * base.low + of_x.low * base.high));
}
ANYPLACE_DEVICE_FUNCTION double log(double x) { return log_in_base(x, {1.0, 0.0}); }
ANYPLACE_DEVICE_FUNCTION double log2(double x) { return log_in_base(x, {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56}); }
ANYPLACE_DEVICE_FUNCTION double log10(double x) {
  return log_in_base(x, {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}
ANYPLACE_DEVICE_FUNCTION double log1p(double x) {
  const double sum = 1.0 + x;
  if (sum == 1.0 || is_nan(x) || x == infinity()) return x;
  return log(sum) * (x / (sum - 1.0));
}

ANYPLACE_DEVICE_FUNCTION bool is_whole(double x) { return __builtin_trunc(x) == x; }
ANYPLACE_DEVICE_FUNCTION bool is_odd(double x) { return is_whole(x) && !is_whole(x * 0.5); }
ANYPLACE_DEVICE_FUNCTION double pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (is_nan(x) || is_nan(y)) return not_a_number();
  const double size = magnitude(x);
  if (is_infinite(y)) return size == 1.0 ? 1.0 : (size > 1.0) == (y > 0.0) ? infinity() : 0.0;
  const bool is_minus = is_negative(x) && is_odd(y);
  if (size == 0.0 || is_infinite(x)) {
    const double end = (size == 0.0) == (y > 0.0) ? 0.0 : infinity();
    return is_minus ? -end : end;
  }
  if (x < 0.0 && !is_whole(y)) return not_a_number();
  const Pair log_of = log_pair(size);
  const double product = log_of.high * y;
  const double result = is_infinite(product)
                            ? exp(product)
                            : exp(Pair{product, __builtin_fma(log_of.high, y, -product) + log_of.low * y});
  return is_minus ? -result : result;
}
ANYPLACE_DEVICE_FUNCTION double cbrt(double x) {
  if (x == 0.0 || is_nan(x) || is_infinite(x)) return x;
  const double size = magnitude(x);
  const double root = exp(log_pair(size).high * (1.0 / 3));
  return with_sign(root - (root - size / (root * root)) * (1.0 / 3), x);  // one step of Newton's
}
ANYPLACE_DEVICE_FUNCTION double hypot(double x, double y) {
  if (is_infinite(x) || is_infinite(y)) return infinity();
  const double a = magnitude(x), b = magnitude(y), most = a > b ? a : b, least = a > b ? b : a;
  if (is_nan(x) || is_nan(y)) return not_a_number();
  if (least == 0.0) return most;
  const double part = least / most;
  return most * __builtin_sqrt(1.0 + part * part);
}

// ---- Circular functions

constexpr double half_pi = 0x1.921fb54442d18p+0, half_pi_2 = 0x1.1a62633145c07p-54, half_pi_3 = -0x1.f1976b7ed8fbcp-110;

/// The words of 2 / pi behind the point, from the highest.
ANYPLACE_DEVICE_FUNCTION unsigned int two_over_pi(int word) {
  constexpr unsigned int words[] = {
      0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
      0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
      0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
      0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
      0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du};
  return word < 0 ? 0 : words[word];
}

struct Turn {
  Pair rest;     ///< in -pi/4 .. pi/4
  int quarters;  ///< how many times pi/2 was taken away, modulo 4
};
/// Of a finite x >= 2^20, after Payne and Hanek: of the product with 2 / pi only the bits around the point are
/// computed, since whole turns don't count.
ANYPLACE_DEVICE_FUNCTION Turn reduced_large(double x) {
  const int exponent = static_cast<int>(bits_of(x) >> 52) - 1075;  // x = mantissa * 2^exponent
  const unsigned long long mantissa = (bits_of(x) & 0xfffffffffffffull) | 1ull << 52;
  // 7 words of 2 / pi, beginning at the bit that is worth 2^(2 - exponent - 1 ...), times the mantissa's two words.
  const int first = exponent + 53 - 56, word = first >= 0 ? first / 32 : (first - 31) / 32, shift = first - word * 32;
  unsigned int part[6], product[8] = {};
  for (int i = 0; i < 6; ++i) {
    const unsigned long long two =
        static_cast<unsigned long long>(two_over_pi(word + i)) << 32 | two_over_pi(word + i + 1);
    part[i] = static_cast<unsigned int>(two << shift >> 32);
  }
  for (int m = 0; m < 2; ++m) {
    const unsigned long long factor = m == 0 ? mantissa & 0xffffffffu : mantissa >> 32;
    unsigned long long carry = 0;
    for (int i = 5; i >= 0; --i) {
      const int to = i + 2 - m;
      carry += factor * part[i] + product[to];
      product[to] = static_cast<unsigned int>(carry);
      carry >>= 32;
    }
    product[1 - m] = static_cast<unsigned int>(carry);
  }
  // The part's first bit is worth 2^-(first + 1), so the product's first is worth 2^(64 - first - 1 + exponent).
  const int whole = 64 - first + exponent;  // bits in front of the point
  const auto word_at = [&](int bit) {
    const unsigned long long two = static_cast<unsigned long long>(product[bit / 32]) << 32 | product[bit / 32 + 1];
    return static_cast<unsigned int>(two << bit % 32 >> 32);
  };
  unsigned int quarters = word_at(whole - 2) >> 30;
  unsigned long long high = static_cast<unsigned long long>(word_at(whole)) << 32 | word_at(whole + 32);
  unsigned long long low = static_cast<unsigned long long>(word_at(whole + 64)) << 32;
  const bool is_over_half = high >> 63 != 0;
  if (is_over_half) {  // the nearest quarter is the next one
    ++quarters;
    low = ~low + 1;
    high = ~high + (low == 0);
  }
  const unsigned long long first_bits = high & ~0x7ffull;
  const double top = static_cast<double>(first_bits) * 0x1p-64;
  const double under = static_cast<double>(high - first_bits) * 0x1p-64 + static_cast<double>(low) * 0x1p-128;
  const double rest = top * half_pi;
  const double rest_low = __builtin_fma(top, half_pi, -rest) + (top * half_pi_2 + under * half_pi);
  const double sum = rest + rest_low, sum_low = rest_low - (sum - rest);
  return {is_over_half ? Pair{-sum, -sum_low} : Pair{sum, sum_low}, static_cast<int>(quarters & 3)};
}
/// Of a finite x.
ANYPLACE_DEVICE_FUNCTION Turn reduced(double x) {
  const double size = magnitude(x);
  Turn turn;
  if (size < 0x1p20) {
    const double k = __builtin_rint(size * (1.0 / half_pi));
    const double first = __builtin_fma(-k, half_pi, size);
    const double rest = __builtin_fma(-k, half_pi_2, first);
    turn = {{rest, __builtin_fma(-k, half_pi_2, first - rest) - k * half_pi_3}, static_cast<int>(k) & 3};
  } else {
    turn = reduced_large(size);
  }
  if (!is_negative(x)) return turn;
  return {{-turn.rest.high, -turn.rest.low}, -turn.quarters & 3};
}
ANYPLACE_DEVICE_FUNCTION double sin_series(Pair x) {
  const double z = x.high * x.high;
  double sum = 0.0;
  for (int n = 19; n >= 3; n -= 2) sum = (1.0 + z * sum) * (-1.0 / (n * (n - 1)));
  return x.high + (x.high * z * sum + x.low);
}
ANYPLACE_DEVICE_FUNCTION double cos_series(Pair x) {
  const double z = x.high * x.high;
  double sum = 0.0;
  for (int n = 20; n >= 4; n -= 2) sum = (1.0 + z * sum) * (-1.0 / (n * (n - 1)));
  const double half = 0.5 * z, near = 1.0 - half;
  return near + (((1.0 - near) - half) - (z * half * sum + x.high * x.low));
}
ANYPLACE_DEVICE_FUNCTION double circular(double x, int quarters_more) {
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  const Turn turn = reduced(x);
  const int quarters = (turn.quarters + quarters_more) & 3;
  const double value = (quarters & 1) != 0 ? cos_series(turn.rest) : sin_series(turn.rest);
  return (quarters & 2) != 0 ? -value : value;
}
ANYPLACE_DEVICE_FUNCTION double sin(double x) { return x == 0.0 ? x : circular(x, 0); }
ANYPLACE_DEVICE_FUNCTION double cos(double x) { return circular(x, 1); }
ANYPLACE_DEVICE_FUNCTION double tan(double x) {
  if (x == 0.0) return x;
  if (is_nan(x) || is_infinite(x)) return not_a_number();
  const Turn turn = reduced(x);
  const double sine = sin_series(turn.rest), cosine = cos_series(turn.rest);
  return (turn.quarters & 1) != 0 ? -cosine / sine : sine / cosine;
}

ANYPLACE_DEVICE_FUNCTION double atan(double x) {
  if (is_nan(x) || x == 0.0) return x;
  const double size = magnitude(x);
  // atan t = pi/2 - atan 1/t, and atan t = pi/4 + atan (t - 1)/(t + 1): the series gets at most tan(pi/8).
  Pair base{0.0, 0.0};
  double t = size;
  if (size > 2.414213562373095) {
    base = {half_pi, half_pi_2};
    t = -1.0 / size;
  } else if (size > 0.4142135623730951) {
    base = {half_pi * 0.5, half_pi_2 * 0.5};
    t = (size - 1.0) / (size + 1.0);
  }
  const double z = t * t;
  double series = 0.0;
  for (int n = 45; n >= 3; n -= 2) series = (n % 4 == 1 ? 1.0 / n : -1.0 / n) + z * series;
  return with_sign(base.high + (t + (t * z * series + base.low)), x);
}
ANYPLACE_DEVICE_FUNCTION double atan2(double y, double x) {
  if (is_nan(x) || is_nan(y)) return not_a_number();
  double angle;
  if (y == 0.0) {
    angle = is_negative(x) ? 2.0 * half_pi : 0.0;
  } else if (is_infinite(x) && is_infinite(y)) {
    angle = is_negative(x) ? 1.5 * half_pi : 0.5 * half_pi;
  } else {
    angle = x == 0.0 ? half_pi : atan(magnitude(y) / magnitude(x));
    if (x < 0.0) angle = 2.0 * half_pi - (angle - 2.0 * half_pi_2);
  }
  return with_sign(angle, y);
}
ANYPLACE_DEVICE_FUNCTION double asin(double x) {
  return x == 0.0 ? x : atan2(x, __builtin_sqrt((1.0 - x) * (1.0 + x)));
}
ANYPLACE_DEVICE_FUNCTION double acos(double x) { return 2.0 * atan2(__builtin_sqrt(1.0 - x), __builtin_sqrt(1.0 + x)); }

// ---- Hyperbolic functions

ANYPLACE_DEVICE_FUNCTION double sinh(double x) {
  const double size = magnitude(x);
  if (size < 1.0) {
    const double e = expm1(size);
    return with_sign(0.5 * (e + e / (e + 1.0)), x);
  }
  const double half = exp(0.5 * size);  // its square may be too large where the result isn't
  return with_sign(size < 20.0 ? 0.5 * (exp(size) - exp(-size)) : 0.5 * half * half, x);
}
ANYPLACE_DEVICE_FUNCTION double cosh(double x) {
  const double size = magnitude(x), half = exp(0.5 * size);
  return size < 20.0 ? 0.5 * (exp(size) + exp(-size)) : 0.5 * half * half;
}
ANYPLACE_DEVICE_FUNCTION double tanh(double x) {
  const double size = magnitude(x);
  if (size > 20.0) return with_sign(1.0, x);
  const double e = expm1(2.0 * size);
  return with_sign(e / (e + 2.0), x);
}
ANYPLACE_DEVICE_FUNCTION double asinh(double x) {
  const double size = magnitude(x);
  if (is_infinite(x) || x == 0.0) return x;
  if (size > 0x1p28) return with_sign(log(size) + log2_high, x);
  const double square = size * size;
  return with_sign(log1p(size + square / (1.0 + __builtin_sqrt(1.0 + square))), x);
}
ANYPLACE_DEVICE_FUNCTION double acosh(double x) {
  if (x > 0x1p28) return log(x) + log2_high;
  const double above = x - 1.0;
  return log1p(above + __builtin_sqrt(above * (above + 2.0)));
}
ANYPLACE_DEVICE_FUNCTION double atanh(double x) {
  const double size = magnitude(x);
  return x == 0.0 ? x : with_sign(0.5 * log1p(2.0 * size / (1.0 - size)), x);
}

// ---- The error function

ANYPLACE_DEVICE_FUNCTION double exp_of_minus_square(double x) {
  const double square = x * x;
  return exp(Pair{-square, -__builtin_fma(x, x, -square)});
}
/// For x >= 1, by a continued fraction.
ANYPLACE_DEVICE_FUNCTION double erfc_of_large(double x) {
  if (x > 27.3) return 0.0;
  double fraction = 0.0;
  for (int n = 200; n >= 1; --n) fraction = 0.5 * n / (x + fraction);
  return exp_of_minus_square(x) / (1.7724538509055161 * (x + fraction));
}
/// For 0 <= x < 2: the series whose terms are all positive.
ANYPLACE_DEVICE_FUNCTION double erf_of_small(double x) {
  double sum = 0.0;
  for (int n = 40; n >= 1; --n) sum = (1.0 + sum) * (2.0 * x * x / (2 * n + 1));
  return 0x1.20dd750429b6dp+0 * exp_of_minus_square(x) * (x + x * sum);
}
ANYPLACE_DEVICE_FUNCTION double erf(double x) {
  if (is_nan(x) || x == 0.0) return x;
  const double size = magnitude(x);
  return with_sign(size < 2.0 ? erf_of_small(size) : 1.0 - erfc_of_large(size), x);
}
ANYPLACE_DEVICE_FUNCTION double erfc(double x) {
  if (is_nan(x)) return x;
  if (x < 0.0) return 1.0 + erf(-x);
  return x < 1.0 ? 1.0 - erf_of_small(x) : erfc_of_large(x);
}

// ---- Remainders and roundings

/// Exact: y times a power of two is taken away as long as that can be done.
ANYPLACE_DEVICE_FUNCTION double fmod(double x, double y) {
  double rest = magnitude(x);
  const double size = magnitude(y);
  if (is_nan(x) || is_nan(y) || is_infinite(x) || size == 0.0) return not_a_number();
  while (rest >= size) {
    double step = size;
    if (size >= 0x1p-1022) {
      const auto exponents = (bits_of(rest) >> 52) - (bits_of(size) >> 52);
      step = of_bits(bits_of(size) + (exponents << 52));
      if (step > rest) step *= 0.5;
    } else {
      while (step <= rest * 0.5) step += step;
    }
    rest -= step;
  }
  return with_sign(rest, x);
}
ANYPLACE_DEVICE_FUNCTION double round(double x) {
  const double whole = __builtin_trunc(x);
  return with_sign(magnitude(x - whole) >= 0.5 ? magnitude(whole) + 1.0 : magnitude(whole), x);
}
ANYPLACE_DEVICE_FUNCTION double copysign(double x, double y) { return with_sign(x, y); }
ANYPLACE_DEVICE_FUNCTION double fdim(double x, double y) {
  return is_nan(x) || is_nan(y) ? not_a_number() : x > y ? x - y : 0.0;
}

}  // namespace anyplace::device_code::math

#endif  // ANYPLACE_DEVICE_FUNCTION
