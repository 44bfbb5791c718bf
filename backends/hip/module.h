// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels that were asked for. RetiredModules: those whose handle is gone while kernels
// of theirs may still be queued; HIP says nothing of unloading under running work, so they are unloaded after it.
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

/// HIP's calls, as anyplace/backend/kit/retired_modules.h asks for them.
struct ModuleCalls {
  using Device = hip::Device;
  using Native = hipModule_t;
  using Result = hipError_t;
  using Pending = PendingWork;
  class Scope {
   public:
    explicit Scope(Device& device) noexcept;

   private:
    ContextScope scope_;
  };

  static PendingWork pending(Device& device);
  static void wait_for_all(Device& device) noexcept;
  static hipError_t unload(Device& device, hipModule_t module) noexcept;
};

using RetiredModules = anyplace::backend::RetiredModules<ModuleCalls>;

}  // namespace anyplace::hip
