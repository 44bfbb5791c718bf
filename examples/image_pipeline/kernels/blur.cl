/* SPDX-License-Identifier: Apache-2.0
 *
 * The blur of ../blur.cpp in OpenCL C: the same sums in the same order, so the same bytes. One thread makes one pixel.
 */
typedef struct {
  uint width, height;
  uint source_width, source_height;
  uint left, top;
  uint channels;
} TileShape;

__constant uint weights[5] = {1, 4, 6, 4, 1};

__kernel void blur(__global const uchar* source, __global uchar* target, TileShape tile) {
  const uint x = get_global_id(0);
  const uint y = get_global_id(1);
  if (x >= tile.width || y >= tile.height) return;
  for (uint channel = 0; channel < tile.channels; ++channel) {
    uint sum = 0;
    for (int dy = -2; dy <= 2; ++dy) {
      const uint row = clamp((int)(tile.top + y) + dy, 0, (int)tile.source_height - 1);
      for (int dx = -2; dx <= 2; ++dx) {
        const uint column = clamp((int)(tile.left + x) + dx, 0, (int)tile.source_width - 1);
        sum += weights[dy + 2] * weights[dx + 2] * source[(row * tile.source_width + column) * tile.channels + channel];
      }
    }
    target[(y * tile.width + x) * tile.channels + channel] = (sum + 128) >> 8;
  }
}
