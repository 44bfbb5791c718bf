// SPDX-License-Identifier: Apache-2.0
//
// The blur of one tile: an integer 5 x 5 binomial filter, (1 4 6 4 1) in both directions, each channel by itself, edges
// clamped, (sum + 128) >> 8. A thread goes down rows_per_thread pixels of one column and keeps the last five sums along the
// rows, so that each source pixel is read five times instead of twenty-five; neighbouring threads read neighbouring pixels.
#include <anyplace/device_code.h>

#include "../tile.h"

using image_pipeline::halo;
using image_pipeline::rows_per_thread;
using image_pipeline::TileShape;

/// Where the filter's tap lies that belongs to `at`, without going below 0 or past the end.
__device__ __forceinline__ uint32_t tap_position(uint32_t at, uint32_t tap, uint32_t size) {
  const uint32_t from = at + tap < halo ? 0 : at + tap - halo;
  return from < size ? from : size - 1;
}

extern "C" __global__ void blur(const uint8_t* __restrict__ source, uint8_t* __restrict__ target, TileShape tile) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t top = (blockIdx.y * blockDim.y + threadIdx.y) * rows_per_thread;
  if (x >= tile.width || top >= tile.height) return;
  const uint32_t bottom = min(top + rows_per_thread, tile.height);
  const uint32_t row_bytes = tile.source_width * tile.channels;
  uint32_t columns[5];
  for (uint32_t tap = 0; tap < 5; ++tap) {
    columns[tap] = tap_position(tile.left + x, tap, tile.source_width) * tile.channels;
  }
  for (uint32_t channel = 0; channel < tile.channels; ++channel) {
    uint32_t sums[5] = {};
    // The first four rows only fill `sums`; from then on each gives a pixel.
    for (uint32_t row = 0; row < bottom - top + 4; ++row) {
      const uint8_t* const from = source + tap_position(tile.top + top, row, tile.source_height) * row_bytes + channel;
      for (uint32_t i = 0; i < 4; ++i) sums[i] = sums[i + 1];
      sums[4] = from[columns[0]] + 4u * from[columns[1]] + 6u * from[columns[2]] + 4u * from[columns[3]] +
                from[columns[4]];
      if (row < 4) continue;
      const uint32_t sum = sums[0] + 4u * sums[1] + 6u * sums[2] + 4u * sums[3] + sums[4];
      target[((top + row - 4) * tile.width + x) * tile.channels + channel] = static_cast<uint8_t>((sum + 128u) >> 8);
    }
  }
}

ANYPLACE_EXPORT_KERNELS(blur);
