// SPDX-License-Identifier: Apache-2.0
//
// CHECK decomposes its expression, so that a check that fails shows the values that were compared: Decompose() <= a ==
// b is (Decompose() <= a) == b, which keeps both sides. Comparisons that are joined by && or || aren't decomposed, and
// show nothing.
#pragma once

#include <string>
#include <type_traits>

namespace anyplace::conformance {

template <class T>
std::string shown(const T& value);

/// The result of a comparison and, if it doesn't hold, its two sides.
struct Compared {
  bool holds;
  std::string sides;

  explicit operator bool() const noexcept { return holds; }
};

/// The left side, before anything is compared with it. It refers to the expression's value.
template <class T>
class LeftSide {
 public:
  explicit LeftSide(const T& value) noexcept : value_(value) {}
  explicit operator bool() const { return static_cast<bool>(value_); }
  const T& value() const noexcept { return value_; }

// Literals are compared with numbers of any sign, as without a template.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
#define ANYPLACE_CONFORMANCE_COMPARE(op)                                                             \
  template <class R>                                                                                 \
  Compared operator op(const R& right) const {                                                       \
    const bool holds = static_cast<bool>(value_ op right);                                           \
    return {holds, holds ? std::string() : shown(value_) + std::string(" " #op " ") + shown(right)}; \
  }
  ANYPLACE_CONFORMANCE_COMPARE(==)
  ANYPLACE_CONFORMANCE_COMPARE(!=)
  ANYPLACE_CONFORMANCE_COMPARE(<)
  ANYPLACE_CONFORMANCE_COMPARE(<=)
  ANYPLACE_CONFORMANCE_COMPARE(>)
  ANYPLACE_CONFORMANCE_COMPARE(>=)
#undef ANYPLACE_CONFORMANCE_COMPARE
#pragma GCC diagnostic pop

 private:
  const T& value_;
};

struct Decompose {
  template <class T>
  LeftSide<T> operator<=(const T& value) const noexcept {
    return LeftSide<T>(value);
  }
};

/// Such as ": 1024 >= 4096", or nothing if the expression shows everything.
inline std::string sides_of(bool) { return ""; }
inline std::string sides_of(const Compared& compared) { return ": " + compared.sides; }
template <class T>
std::string sides_of(const LeftSide<T>&) {
  return "";
}

[[noreturn]] void check_failed(const char* file, int line, const std::string& text);

template <class T>
void check_that(const T& result, const char* file, int line, const char* text) {
  if (!static_cast<bool>(result)) check_failed(file, line, std::string(text) + " is false" + sides_of(result));
}

}  // namespace anyplace::conformance
