// SPDX-License-Identifier: Apache-2.0
//
// The pipeline: a picture goes through its devices tile by tile, so that a picture of any size fits, and copies overlap
// with kernels and with each other.
//
// Each device has one upload stream, one download stream and the asked number of compute streams. A tile's three steps
// are on three streams, put in order by events. Slots, two for each compute stream, hold the buffers of the tiles that
// are under way; the host packs a tile for a slot as soon as the slot's last tile has come down.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "anyplace/device.h"
#include "picture.h"

namespace image_pipeline {

/// Width and height of a tile, in pixels, without its halo.
inline constexpr std::uint32_t tile_size = 256;
inline constexpr int max_streams = 1024;

/// A mistake that is built in, for the layer `validate` to find. The picture may come out right all the same.
enum class Bug {
  none,
  missing_wait,  ///< compute streams don't wait for the upload of their tile
  early_free,    ///< a tile's source is freed while the compute stream, which it isn't told of, may still read it
  wrong_event,   ///< the download waits for the upload instead of the kernel
  pageable,      ///< tiles are packed in the upload stream's order into memory that copies may read before
};

struct PipelineOptions {
  std::vector<anyplace::Device> devices;  ///< at least one; tiles go round
  int streams = 4;                        ///< compute streams of each device, 1 .. max_streams
  bool annotate = false;                  ///< names frames, tiles and stages for profilers
  Bug bug = Bug::none;
};

struct PipelineResult {
  Picture picture;
  std::uint64_t tiles = 0;
  double seconds = 0;  ///< from the first copy to the last, without making streams and buffers
};

/// Called on the calling thread, after each tile that has come down.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Blurs `source`. Throws anyplace::Error; all work has stopped then.
PipelineResult blur_on_devices(const Picture& source, const PipelineOptions& options, const Progress& progress);

}  // namespace image_pipeline
