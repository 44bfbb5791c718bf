// SPDX-License-Identifier: Apache-2.0
//
// The state of the devices at one moment, for `anyplace top`. These are plain values, so that the code that shows them
// can be tested without a device.
#pragma once

#include <anyplace/monitor.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace anyplace::tool {

struct TopDevice {
  std::string place;
  std::string name;                    ///< "" if unknown
  std::optional<DeviceSample> sample;  ///< nothing if it failed: `problem` says why
  std::string problem;
  std::optional<std::vector<DeviceProcess>> processes;  ///< nothing if the vendor can't tell
};

struct TopSnapshot {
  std::chrono::system_clock::time_point time;
  std::vector<TopDevice> devices;
};

}  // namespace anyplace::tool
