// SPDX-License-Identifier: Apache-2.0
//
// Checks of a module's image before HIP sees it. HIP gets no size and trusts the headers of a code object or a bundle,
// so it would read past the end of one that was cut off.
#pragma once

#include <string>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::hip {

/// Returns "" if everything that the image's headers point at lies within the image, else what is wrong.
std::string image_problem(const backend::ImageBytes& image);

/// The architectures that the image has code for, such as "gfx90a, gfx1100"; "" if it doesn't say. image_problem() must
/// have found nothing.
std::string image_targets(const backend::ImageBytes& image);

}  // namespace anyplace::hip
