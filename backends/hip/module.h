// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels that were asked for. RetiredModules: those whose handle is gone while kernels
// of theirs may still be queued; HIP says nothing of unloading under running work, so they are unloaded after it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "kernel.h"
#include "work.h"

namespace anyplace::hip {

class Device;

class Module {
 public:
  /// Throws INVALID_IMAGE, saying what the device is and what the image is for.
  Module(Device& device, const anyplace_module_desc& desc);
  Module(const Module&) = delete;  // it owns the hipModule_t
  Module& operator=(const Module&) = delete;
  ~Module();

  /// The same for the same name. Throws NO_SUCH_KERNEL.
  Kernel& kernel(const char* name);
  /// Ends it once nothing that is queued can need it. Never waits.
  static void unload(Module* module);

 private:
  Device& device_;
  hipModule_t native_ = nullptr;
  std::mutex mutex_;  // guards kernels_; HIP is called under it
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

class RetiredModules {
 public:
  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// Takes the module over if work is pending that may need it; false if there is none. The context is current.
  bool keep_until_over(hipModule_t module);
  /// Unloads those whose time has come. What fails is told by close(): it is no failure of whoever calls this.
  void sweep() noexcept;
  /// Unloads all. Nothing runs any more. The first failure, of a sweep too.
  hipError_t close() noexcept;
  hipError_t failure() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  struct Retired {
    hipModule_t module;
    PendingWork pending;
  };

  /// The device is current.
  void unload(hipModule_t module) noexcept;

  Device& device_;
  std::atomic<hipError_t> failed_{hipSuccess};
  std::mutex mutex_;  // guards modules_; PendingWork is asked under it
  std::vector<Retired> modules_;
};

}  // namespace anyplace::hip
