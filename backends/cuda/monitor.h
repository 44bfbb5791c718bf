// SPDX-License-Identifier: Apache-2.0
//
// Monitor: finds a device in NVML, whose indices may differ from CUDA's, by its uuid, else by its PCI address, and
// reads its figures. Thread-safe.
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
  /// Whether processes can be listed. It opens the library, but doesn't initialise it.
  static bool lists_processes();

  /// Adds NVML's figures of the device with that uuid and PCI address, and their source. Throws Failure(DEVICE_LOST) if
  /// NVML says that the device is gone.
  void sample(const std::string& uuid, const std::string& pci, anyplace_device_sample& out);
  /// Lists the processes with a number in this PID namespace. `uses` says whether this process uses the device and so
  /// has to be among them. Throws Failure: DEVICE_LOST, and UNSUPPORTED if the processes can't be listed.
  std::vector<anyplace_process> processes(const std::string& uuid, const std::string& pci, bool uses);

 private:
  NvmlDevice find(const NvmlLibrary& library, const std::string& uuid, const std::string& pci, std::string& why);

  std::mutex mutex_;             // guards device_; only NVML is called under it
  NvmlDevice device_ = nullptr;  // null until it was found
};

}  // namespace anyplace::cuda
