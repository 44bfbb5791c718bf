// SPDX-License-Identifier: Apache-2.0
#include "blur_kernel.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "blur.h"
#include "blur_images.h"

namespace image_pipeline {
namespace {

/// The blur compiled for one kind of device. `format` is a word of DeviceProperties::image_formats.
struct BlurImage {
  std::string_view format;
  std::span<const std::byte> bytes;
};

/// Best first.
const std::vector<BlurImage>& blur_images() {
  static const std::vector<BlurImage> images = {
      {"opencl_c", std::as_bytes(std::span(kBlurOpenClC))},
  };
  return images;
}

constexpr std::string_view kKernelName = "blur";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

}  // namespace

BlurKernel::BlurKernel(const anyplace::Device& device) {
  if (device.has(anyplace::Capability::host_kernels)) {
    callable_ = anyplace::Kernel(device, blur_block);
    view_ = callable_.view();
    return;
  }
  const std::vector<std::string> formats = device.properties().image_formats;
  for (const BlurImage& image : blur_images()) {
    if (std::find(formats.begin(), formats.end(), image.format) == formats.end()) continue;
    module_ = anyplace::Module(device, image.bytes);
    view_ = module_.kernel(kKernelName);
    return;
  }
  throw std::runtime_error(device.to_string() +
                           " runs no host code, and this program has no kernel image for it (it takes: " +
                           joined(formats) + "). Use a cpu_sim place.");
}

// The images work without.
std::uint64_t BlurKernel::shared_bytes(std::uint32_t block_width, std::uint32_t channels) const {
  return callable_ ? blur_shared_bytes(block_width, channels) : 0;
}

}  // namespace image_pipeline
