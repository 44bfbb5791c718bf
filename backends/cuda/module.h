// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels that were asked for. RetiredModules: those whose handle is gone while kernels
// of theirs may still be queued; CUDA says nothing of unloading under running work, so they are unloaded after it.
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

namespace anyplace::cuda {

class Device;

class Module {
 public:
  /// Throws INVALID_IMAGE, with the compiler's log.
  Module(Device& device, const anyplace_module_desc& desc);
  Module(const Module&) = delete;  // it owns the CUmodule
  Module& operator=(const Module&) = delete;
  ~Module();

  /// The same for the same name. Throws NO_SUCH_KERNEL.
  Kernel& kernel(const char* name);
  /// Ends it once nothing that is queued can need it. Never waits.
  static void unload(Module* module);

 private:
  Device& device_;
  CUmodule native_ = nullptr;
  std::mutex mutex_;  // guards kernels_; CUDA is called under it
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

class RetiredModules {
 public:
  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// Takes the module over if work is pending that may need it; false if there is none. The context is current.
  bool keep_until_over(CUmodule module);
  /// Unloads those whose time has come. What fails is told by close(): it is no failure of whoever calls this.
  void sweep() noexcept;
  /// Unloads all. Nothing runs any more. The first failure, of a sweep too.
  CUresult close() noexcept;
  CUresult failure() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  struct Retired {
    CUmodule module;
    PendingWork pending;
  };

  /// The context is current.
  void unload(CUmodule module) noexcept;

  Device& device_;
  std::atomic<CUresult> failed_{CUDA_SUCCESS};
  std::mutex mutex_;  // guards modules_; PendingWork is asked under it
  std::vector<Retired> modules_;
};

}  // namespace anyplace::cuda
