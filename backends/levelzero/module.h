// SPDX-License-Identifier: Apache-2.0
//
// Module: a built image and the kernels that were asked for. RetiredModules: those whose handle is gone while kernels
// of theirs may still be queued: Level Zero forbids destroying them then, so they go after it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "driver.h"
#include "error.h"
#include "kernel.h"
#include "work.h"

namespace anyplace::levelzero {

class Device;

class Module {
 public:
  /// Throws INVALID_IMAGE, with the compiler's log.
  Module(Device& device, const anyplace_module_desc& desc);
  Module(const Module&) = delete;  // it owns the ze_module
  Module& operator=(const Module&) = delete;

  /// The same for the same name. Throws NO_SUCH_KERNEL.
  Kernel& kernel(const char* name);
  /// Ends it once nothing that is queued can need it. Never waits.
  static void unload(Module* module);
  /// Destroys it and its kernels; the first result that isn't success. Nothing needs it any more.
  ze_result_t end() noexcept;

 private:
  int shared_argument_of(const char* kernel) const;

  Device& device_;
  ze_module_handle_t native_ = nullptr;
  std::map<std::string, int, std::less<>> shared_arguments_;  ///< by kernel, as the metadata has it
  std::mutex mutex_;                                          // guards kernels_; Level Zero is called under it
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

class RetiredModules {
 public:
  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// There is a module, until forget().
  void add(Module& module);
  void forget(Module& module) noexcept;
  /// Takes over one that was added, if work is pending that may need it; false if there is none.
  bool keep_until_over(Module& module);
  /// Destroys those whose time has come.
  void sweep();
  /// Destroys all there are. Nothing runs any more.
  void close(FirstFailure& failure) noexcept;

 private:
  struct Entry {
    Module* module;
    bool retired;
    PendingWork pending;
  };

  Device& device_;
  std::mutex mutex_;  // guards modules_; PendingWork is asked under it
  std::vector<Entry> modules_;
};

}  // namespace anyplace::levelzero
