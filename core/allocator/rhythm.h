// SPDX-License-Identifier: Apache-2.0
//
// Rhythm: whether a program takes memory back in the same intervals again and again, as one does that repeats a step.
//
// Moving free memory to where it is needed saves growing. To a program that repeats itself it comes back to haunt: what
// was moved away is wanted back in the next step, each time. Growing once more ends that, for the price of that much
// memory. For one whose requests are random, growing would never end. The two differ in this: intervals between needing
// the same memory that are equal, several in a row, are no accident.
#pragma once

#include <cstdint>

namespace anyplace::detail {

class Rhythm {
 public:
  /// Memory is wanted again that was obtained `interval` operations ago and has been moved away since.
  void wanted_back(std::uint64_t interval) noexcept {
    const std::uint64_t apart = interval > last_ ? interval - last_ : last_ - interval;
    in_a_row_ = apart <= last_ / 64 ? in_a_row_ + 1 : 0;
    last_ = interval;
  }
  bool steady() const noexcept { return in_a_row_ >= 2; }

 private:
  std::uint64_t last_ = 0;
  std::uint64_t in_a_row_ = 0;
};

}  // namespace anyplace::detail
