// SPDX-License-Identifier: Apache-2.0
//
// The devices that the plug-in offers to Paddle: TYPE:0 is the first place of ANYPLACE_PADDLE_PLACES, and so on.
#pragma once

#include <string_view>
#include <vector>

#include <anyplace/device.h>

#include "paddle/phi/backends/device_ext.h"

namespace anyplace_paddle {

/// The devices that `text` names: places with commas between. One without a number stands for all devices of its
/// backend; blanks around a place are let pass. "" stands for all devices of the backend that `auto` finds. Throws
/// anyplace::Error, whose text names the places that there are, for one that isn't there, and for one that is named
/// twice.
std::vector<anyplace::Device> parse_places(std::string_view text);

/// What ANYPLACE_PADDLE_PLACES says. Found out at the first call, by which the backends are loaded and no vendor
/// context is made; the same from then on. Throws as parse_places does, each time.
const std::vector<anyplace::Device>& places();

/// The device that Paddle means. Throws no_such_device, which names those there are, for a number that no place has.
const anyplace::Device& device_of(C_Device device);

}  // namespace anyplace_paddle
