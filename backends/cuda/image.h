// SPDX-License-Identifier: Apache-2.0
//
// Checks of a module's image before the driver sees it. The driver gets no size and trusts the headers of a cubin or
// fatbin, so it would read past the end of one that was cut off.
#pragma once

#include <string>
#include <string_view>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::cuda {

/// Returns "" if everything that the image's headers point at lies within the image, else what is wrong. `format` is
/// ANYPLACE_IMAGE_CUBIN or _FATBIN.
std::string image_problem(std::uint32_t format, const backend::ImageBytes& image);

/// The version of PTX's instruction set that the text asks for, such as 90 for 9.0; 0 if it doesn't say.
int ptx_version(std::string_view text) noexcept;
/// The CUDA version that introduced a version of PTX, such as 13000 for 90; 0 if it isn't known.
int cuda_version_of_ptx(int ptx_version) noexcept;

}  // namespace anyplace::cuda
