// SPDX-License-Identifier: Apache-2.0
// Where the image of the test kernels (kernels/README.md) is found.
#pragma once

#include <string>

namespace anyplace::conformance {

/// The file to load: `given` if it isn't empty, which must then be readable, else the installed one of the first of the
/// device's formats that there is one for; "" if there is none. `formats` has a space after each. Throws CannotRun.
std::string find_test_module(const std::string& given, const std::string& formats);

}  // namespace anyplace::conformance
