// SPDX-License-Identifier: Apache-2.0
//
// The kernel's images that the program carries: the files of kernels/, put into it by the build.
#pragma once

#include <string_view>

namespace image_pipeline {

extern const std::string_view kBlurOpenClC;

}  // namespace image_pipeline
