// SPDX-License-Identifier: Apache-2.0
//
// Frames: the same picture blurred again and again, as a camera's pictures would be. The work of a frame is captured
// once and launched for each frame, and for comparison submitted call by call.
#pragma once

#include <cstdint>

#include "picture.h"
#include "pipeline.h"

namespace image_pipeline {

struct FramesResult {
  Picture picture;  ///< the last frame
  std::uint64_t tiles = 0;
  std::uint64_t nodes = 0;      ///< of the graphs, all devices together
  std::uint64_t different = 0;  ///< frames that weren't the first one's bytes
  bool native = false;          ///< whether the devices launch their graphs as one
  double captured_seconds = 0;  ///< medians of a frame, from the first call until its bytes are there
  double submitted_seconds = 0;
};

/// Blurs `source` so many times each way. All tiles of the picture are on the devices at once. Throws anyplace::Error.
FramesResult blur_frames(const Picture& source, const PipelineOptions& options, std::uint64_t frames,
                         const Progress& progress);

}  // namespace image_pipeline
