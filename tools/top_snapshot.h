// SPDX-License-Identifier: Apache-2.0
//
// What `anyplace top` knows of the devices at one moment. Plain values: what a screen or a file shows of them is the
// work of others, which need no device to be tested.
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
  std::optional<DeviceSample> sample;  ///< nothing: `problem` says why
  std::string problem;
  std::optional<std::vector<DeviceProcess>> processes;  ///< nothing: the vendor can't tell
};

struct TopSnapshot {
  std::chrono::system_clock::time_point time;
  std::vector<TopDevice> devices;
};

}  // namespace anyplace::tool
