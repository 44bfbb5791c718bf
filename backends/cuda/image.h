// SPDX-License-Identifier: Apache-2.0
//
// What can be said of a module's image before the driver sees it. The driver is given no size, and believes what a
// cubin or fatbin says of itself: one that was cut off would be read past its end.
#pragma once

#include <string>
#include <string_view>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::cuda {

/// "" if all that the image's headers point at lies within it. `format` is ANYPLACE_IMAGE_CUBIN or _FATBIN.
std::string image_problem(std::uint32_t format, const backend::ImageBytes& image);

/// The version of PTX's instruction set that the text asks for, as 90 for 9.0; 0 if it doesn't say.
int ptx_version(std::string_view text) noexcept;
/// The CUDA version that introduced it, as 13000 for 90; 0 where it isn't known here.
int cuda_version_of_ptx(int ptx_version) noexcept;

}  // namespace anyplace::cuda
