// SPDX-License-Identifier: Apache-2.0
//
// What can be said of a module's image before HIP sees it. HIP is given no size, and believes what a code object or a
// bundle says of itself: one that was cut off would be read past its end.
#pragma once

#include <string>

#include "anyplace/backend/kit/elf.h"

namespace anyplace::hip {

/// "" if all that the image's headers point at lies within it.
std::string image_problem(const backend::ImageBytes& image);

/// What the image holds code for, as "gfx90a, gfx1100"; "" if it doesn't say. The image has no problem.
std::string image_targets(const backend::ImageBytes& image);

}  // namespace anyplace::hip
