// SPDX-License-Identifier: Apache-2.0
// What a module image is, by looking at its first bytes. Pure functions; they read no further than they are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace anyplace::detail {

struct ImageFormat {
  std::uint32_t format = 0;  ///< ANYPLACE_IMAGE_*; 0: none of those that can be told apart
  std::string description;   ///< for people: "NVIDIA PTX text", "an ELF file for aarch64 (a shared object)"
};

ImageFormat identify_image(std::span<const std::byte> image);

/// "PTX text, ..." of a device's image_formats; "no image at all" for none.
std::string describe_formats(std::uint64_t image_formats);

}  // namespace anyplace::detail
