// SPDX-License-Identifier: Apache-2.0
//
// What a device tells of itself, in three groups of queries. Each returns false for a query of another group.
#pragma once

#include "device.h"
#include "info.h"

namespace anyplace_ur {

/// Names, versions, and what else the device is.
bool tell_identity(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write);
/// Sizes and numbers.
bool tell_limits(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write);
/// What it can do, and what it lacks.
bool tell_features(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write);

/// Whether modules are made of images of a format, a word of DeviceProperties::image_formats: the device takes it, or a
/// compiler that is here makes of it what the device takes.
bool takes_images(const ur_device_handle_t_& device, std::string_view format);

}  // namespace anyplace_ur
