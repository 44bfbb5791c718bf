// SPDX-License-Identifier: Apache-2.0
//
// Generators of random numbers. Operators run on the CPU, so that a generator of the device has one of the CPU behind
// it: the same seed gives the same numbers on `anyplace` and on `cpu`.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

namespace anyplace_torch {

/// The device's own, made at first use. Lives for good.
const at::Generator& default_generator(c10::DeviceIndex index);
/// A new one, seeded with torch's default.
at::Generator new_generator(c10::DeviceIndex index);
/// The one of the CPU behind it. Throws c10::Error for one of another kind of device.
const at::Generator& cpu_generator_behind(const at::Generator& generator);

}  // namespace anyplace_torch
