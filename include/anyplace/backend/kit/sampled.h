// SPDX-License-Identifier: Apache-2.0
//
// Sampled: sets a figure of anyplace_device_sample together with the bit that says that it is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../device_backend.h"

namespace anyplace::backend {

/// The methods are named as the struct's members: Sampled(out).memory_used_bytes(n). An empty optional leaves the
/// struct unchanged.
class Sampled {
 public:
  /// Fills `out`, which is zeroed.
  explicit Sampled(anyplace_device_sample& out) noexcept : out_(out) {}

#define ANYPLACE_SAMPLED_MEMBER(upper, lower, bit, text)           \
  void lower(std::optional<std::uint64_t> figure) const noexcept { \
    if (!figure) return;                                           \
    out_.lower = *figure;                                          \
    out_.known |= std::uint64_t{1} << ANYPLACE_SAMPLE_BIT_##upper; \
  }
  ANYPLACE_SAMPLE_LIST(ANYPLACE_SAMPLED_MEMBER)
#undef ANYPLACE_SAMPLED_MEMBER

  /// A text that is too long is cut.
  void source(const std::string& text) const noexcept { set_text(out_.source, text); }

 private:
  anyplace_device_sample& out_;
};

/// Converts thousandths of a degree Celsius to millikelvin; empty below absolute zero.
inline std::optional<std::uint64_t> millikelvin(std::int64_t millicelsius) noexcept {
  constexpr std::int64_t zero_celsius = 273150;
  if (millicelsius < -zero_celsius) return std::nullopt;
  return static_cast<std::uint64_t>(millicelsius + zero_celsius);
}

}  // namespace anyplace::backend
