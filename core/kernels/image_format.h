// SPDX-License-Identifier: Apache-2.0
// Recognises the format of a module's image by its first bytes. The functions are pure and read only the bytes they are
// given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace anyplace::detail {

struct ImageFormat {
  std::uint32_t format = 0;  ///< ANYPLACE_IMAGE_*; 0: the format isn't recognised
  std::string description;   ///< for people: "NVIDIA PTX text", "an ELF file for aarch64 (a shared object)"
};

ImageFormat identify_image(std::span<const std::byte> image);

/// The formats as text for people: "PTX text, ..."; "no image at all" for none.
std::string describe_formats(std::uint64_t image_formats);

}  // namespace anyplace::detail
