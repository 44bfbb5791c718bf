// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels that were asked for. RetiredModules: those whose handle is gone while kernels
// of theirs may still be queued; CUDA says nothing of unloading under running work, so they are unloaded after it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/kit/retired_modules.h"
#include "context.h"
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

/// CUDA's calls, as anyplace/backend/kit/retired_modules.h asks for them.
struct ModuleCalls {
  using Device = cuda::Device;
  using Native = CUmodule;
  using Result = CUresult;
  using Pending = PendingWork;
  class Scope {
   public:
    explicit Scope(Device& device) noexcept;

   private:
    ContextScope scope_;
  };

  static PendingWork pending(Device& device);
  static void wait_for_all(Device& device) noexcept;
  static CUresult unload(Device& device, CUmodule module) noexcept;
};

using RetiredModules = anyplace::backend::RetiredModules<ModuleCalls>;

}  // namespace anyplace::cuda
