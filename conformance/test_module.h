// SPDX-License-Identifier: Apache-2.0
// Finds the image of the test kernels (kernels/README.md).
#pragma once

#include <string>

namespace anyplace::conformance {

/// The file to load: `given` if it isn't empty, which must then be readable; otherwise the installed file for the first
/// of the device's formats that has one; "" if there is none. `formats` has a space after each. Throws CannotRun.
std::string find_test_module(const std::string& given, const std::string& formats);

}  // namespace anyplace::conformance
