// SPDX-License-Identifier: Apache-2.0
//
// What backends fill anyplace_device_sample with: a figure and the bit that says it is known, set together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../device_backend.h"

namespace anyplace::backend {

/// The members are called as the struct's: Sampled(out).memory_used_bytes(n). An unknown one leaves the struct as it
/// is.
class Sampled {
 public:
  explicit Sampled(anyplace_device_sample& out) noexcept : out_(out) {}

#define ANYPLACE_SAMPLED_MEMBER(upper, lower, bit, text)           \
  void lower(std::optional<std::uint64_t> figure) const noexcept { \
    if (!figure) return;                                           \
    out_.lower = *figure;                                          \
    out_.known |= std::uint64_t{1} << ANYPLACE_SAMPLE_BIT_##upper; \
  }
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLED_MEMBER)
#undef ANYPLACE_SAMPLED_MEMBER

  /// Cut to the room that there is.
  void source(const std::string& text) const noexcept { set_text(out_.source, text); }

 private:
  anyplace_device_sample& out_;
};

/// The millikelvin of a temperature in thousandths of a degree Celsius; nothing below absolute zero.
inline std::optional<std::uint64_t> millikelvin(std::int64_t millicelsius) noexcept {
  constexpr std::int64_t zero_celsius = 273150;
  if (millicelsius < -zero_celsius) return std::nullopt;
  return static_cast<std::uint64_t>(millicelsius + zero_celsius);
}

}  // namespace anyplace::backend
