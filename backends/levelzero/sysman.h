// SPDX-License-Identifier: Apache-2.0
//
// Sysman: one device as Level Zero's system management interface (zes_api.h) sees it, through the same loader. Its
// handles are others than the device's, in an order of their own, so it is found by its uuid, else by its PCI address.
// zesInit begins it, which loaders have from version 1.5 of the API on; with ZES_ENABLE_SYSMAN=1 in the environment
// (from before zeInit) the handles are the same. Without either, figures are unknown. Of a sub-device the figures are
// those of the device that it is of. Any thread.
#pragma once

#include <level_zero/zes_api.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/device_backend.h"

namespace anyplace::levelzero {

class DeviceBase;

class Sysman {
 public:
  explicit Sysman(DeviceBase& device) : device_(device) {}
  Sysman(const Sysman&) = delete;  // finds its device once
  Sysman& operator=(const Sysman&) = delete;

  /// Whether the driver tells which processes use the device. Begins the interface.
  bool lists_processes();
  /// Adds what it tells, and where it comes from. Throws DEVICE_LOST, with which the device is lost.
  void sample(anyplace_device_sample& out);
  /// Throws UNSUPPORTED where they can't be told, and DEVICE_LOST.
  std::vector<anyplace_process> processes();

 private:
  /// Null, with the reason, where there is none.
  zes_device_handle_t find(std::string& why);
  zes_device_handle_t find_among(const std::vector<zes_device_handle_t>& all);

  DeviceBase& device_;
  std::mutex mutex_;                     // guards found_; the interface is called under it
  zes_device_handle_t found_ = nullptr;  // null until it was found
};

}  // namespace anyplace::levelzero
