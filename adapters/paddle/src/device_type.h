// SPDX-License-Identifier: Apache-2.0
//
// The name that Paddle knows the devices by: "anyplace" in paddle.set_device("anyplace:0").
#pragma once

#include <string>

namespace anyplace_paddle {

/// ANYPLACE_PADDLE_TYPE, else what the plug-in's file name says (libpaddle-custom-TYPE.so), else "anyplace". Found out
/// at the first call, and the same from then on. Throws std::invalid_argument for a name that Paddle can't take.
const std::string& device_type();

/// Throws std::invalid_argument unless `type` is [a-z][a-z0-9_]* and none of Paddle's own device types. `where` says
/// where it stands.
void check_device_type(const std::string& type, const std::string& where);

}  // namespace anyplace_paddle
