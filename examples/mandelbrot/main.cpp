// SPDX-License-Identifier: Apache-2.0
//
// The Mandelbrot set, by a kernel that is a string, on any device:
//
//   mandelbrot [PLACE] > picture.pgm
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) try {
  const anyplace::Device device(argc > 1 ? argv[1] : "auto");
  const anyplace::Module module = anyplace::Module::compile(device, R"(
    extern "C" __global__ void mandelbrot(unsigned char* picture, unsigned width, unsigned height) {
      const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
      if (x >= width) return;
      const float cx = 3.0f * x / width - 2.2f, cy = 2.0f * y / height - 1.0f;
      float zx = 0, zy = 0;
      unsigned count = 0;
      for (; count < 255 && zx * zx + zy * zy < 4; ++count) {
        const float next = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = next;
      }
      picture[y * width + x] = 255 - count;
    })");
  const unsigned width = 768, height = 512, threads = 256;
  const anyplace::Stream stream(device);
  const anyplace::Buffer buffer(stream, width * height);
  std::vector<unsigned char> picture(width * height);
  stream.launch(module.kernel("mandelbrot"), {{width / threads, height}, threads}, buffer, width, height);
  stream.copy(picture, buffer);
  stream.synchronize();
  std::printf("P5 %u %u 255\n", width, height);
  return std::fwrite(picture.data(), 1, picture.size(), stdout) == picture.size() && std::fflush(stdout) == 0 ? 0 : 1;
} catch (const anyplace::Error& error) {
  std::fprintf(stderr, "%s\n%s\n", error.what(), error.vendor_text().c_str());
  return 1;
}
