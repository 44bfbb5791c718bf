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

/// Whether the device takes module images of a format, a word of DeviceProperties::image_formats.
bool takes_images(const ur_device_handle_t_& device, std::string_view format);

}  // namespace anyplace_ur
