// SPDX-License-Identifier: Apache-2.0
//
// Sysman: reads a device's figures through Level Zero's system management interface (zes_api.h), which is in the same
// loader. The interface has handles and an order of its own, so the device is found by its uuid, else by its PCI
// address. zesInit, which loaders have from version 1.5 of the API on, initialises it; with ZES_ENABLE_SYSMAN=1 in the
// environment before zeInit the handles are those of the device instead. Without either, figures are unknown. For a
// sub-device the figures are those of its whole device. Thread-safe.
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
  Sysman(const Sysman&) = delete;  // it finds its device once
  Sysman& operator=(const Sysman&) = delete;

  /// Whether the driver tells which processes use the device. It initialises the interface.
  bool lists_processes();
  /// Adds the figures and their source. Throws DEVICE_LOST, and then the device is lost.
  void sample(anyplace_device_sample& out);
  /// Lists the processes that use the device. Throws UNSUPPORTED if they can't be listed, and DEVICE_LOST.
  std::vector<anyplace_process> processes();

 private:
  /// Returns null, with the reason in `why`, if the interface doesn't know the device.
  zes_device_handle_t find(std::string& why);
  zes_device_handle_t find_among(const std::vector<zes_device_handle_t>& all);

  DeviceBase& device_;
  std::mutex mutex_;                     // guards found_; the interface is called under it
  zes_device_handle_t found_ = nullptr;  // null until it was found
};

}  // namespace anyplace::levelzero
