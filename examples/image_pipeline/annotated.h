// SPDX-License-Identifier: Apache-2.0
//
// Annotated: a scope with a name, for profilers, if that was asked for; else nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "anyplace/annotate.h"
#include "anyplace/stream.h"

namespace image_pipeline {

inline constexpr std::uint32_t frame_color = 0xff4477aa;
inline constexpr std::uint32_t tile_color = 0xff66ccee;
inline constexpr std::uint32_t stage_color = 0xff228833;

class Annotated {
 public:
  Annotated(bool wanted, const char* name, std::uint32_t color, anyplace::annotate::Payload payload = {}) {
    if (wanted) range_.emplace(name, anyplace::annotate::Attributes{.color = color, .payload = payload});
  }

 private:
  std::optional<anyplace::annotate::Range> range_;
};

/// A point in the stream's work.
inline void mark(bool wanted, const anyplace::StreamView& stream, const char* name,
                 anyplace::annotate::Payload payload) {
  if (wanted) stream.mark(name, {.color = stage_color, .payload = payload});
}

}  // namespace image_pipeline
