/* SPDX-License-Identifier: Apache-2.0
 *
 * The blur of blur.cu in OpenCL C, which is no dialect of CUDA C++: the same sums, so the same bytes, for a launch of the
 * same shape (../tile.h).
 */
typedef struct {
  uint width, height;
  uint source_width, source_height;
  uint left, top;
  uint channels;
} TileShape;

#define ROWS_PER_THREAD 8

__constant uint weights[5] = {1, 4, 6, 4, 1};

uchar blurred(__global const uchar* source, TileShape tile, uint x, uint y, uint channel) {
  uint sum = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    const uint row = clamp((int)(tile.top + y) + dy, 0, (int)tile.source_height - 1);
    for (int dx = -2; dx <= 2; ++dx) {
      const uint column = clamp((int)(tile.left + x) + dx, 0, (int)tile.source_width - 1);
      sum += weights[dy + 2] * weights[dx + 2] * source[(row * tile.source_width + column) * tile.channels + channel];
    }
  }
  return (sum + 128) >> 8;
}

__kernel void blur(__global const uchar* source, __global uchar* target, TileShape tile) {
  const uint x = get_global_id(0);
  if (x >= tile.width) return;
  const uint top = get_global_id(1) * ROWS_PER_THREAD;
  const uint bottom = min(top + ROWS_PER_THREAD, tile.height);
  for (uint y = top; y < bottom; ++y) {
    for (uint channel = 0; channel < tile.channels; ++channel) {
      target[(y * tile.width + x) * tile.channels + channel] = blurred(source, tile, x, y, channel);
    }
  }
}
