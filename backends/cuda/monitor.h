// SPDX-License-Identifier: Apache-2.0
//
// Monitor: one device as NVML sees it, which may be another index there than CUDA's: it is found by its uuid, else by
// its PCI address. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "nvml.h"

namespace anyplace::cuda {

class Monitor {
 public:
  /// Whether processes can be listed. Opens the library and begins nothing.
  static bool lists_processes();

  /// Adds what NVML tells of the device with that uuid and PCI address, and where it comes from. Throws
  /// Failure(DEVICE_LOST) where NVML says that the device is gone.
  void sample(const std::string& uuid, const std::string& pci, anyplace_device_sample& out);
  /// Those with a number in this PID namespace. `uses`: whether this process uses the device, and so has to be among
  /// them. Throws Failure: DEVICE_LOST, and UNSUPPORTED where they can't be told.
  std::vector<anyplace_process> processes(const std::string& uuid, const std::string& pci, bool uses);

 private:
  NvmlDevice find(const NvmlLibrary& library, const std::string& uuid, const std::string& pci, std::string& why);

  std::mutex mutex_;             // guards device_; NVML is called under it, and nothing else
  NvmlDevice device_ = nullptr;  // null until it was found
};

}  // namespace anyplace::cuda
