// SPDX-License-Identifier: Apache-2.0
//
// Module: a built image and the kernels of it that were asked for. RetiredModules: modules whose handle was destroyed
// while their kernels may still be queued. Level Zero forbids destroying them before that work is done.
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
  /// Throws INVALID_IMAGE with the compiler's log.
  Module(Device& device, const anyplace_module_desc& desc);
  Module(const Module&) = delete;  // it owns the ze_module
  Module& operator=(const Module&) = delete;

  /// The kernel of that name, the same one at each call. Throws NO_SUCH_KERNEL.
  Kernel& kernel(const char* name);
  /// Finds a variable of the module. Throws NO_SUCH_GLOBAL.
  void global(const char* name, anyplace_global& out) const;
  ze_module_handle_t native() const noexcept { return native_; }
  /// Destroys the module once no queued work can need it. Never waits.
  static void unload(Module* module);
  /// Destroys the module and its kernels, which nothing needs any more. Returns the first result that isn't success.
  ze_result_t end() noexcept;

 private:
  int shared_argument_of(const char* kernel) const;

  Device& device_;
  ze_module_handle_t native_ = nullptr;
  std::map<std::string, int, std::less<>> shared_arguments_;  ///< by the kernel's name, from the module's metadata
  std::mutex mutex_;                                          // guards kernels_; Level Zero is called under it
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

class RetiredModules {
 public:
  explicit RetiredModules(Device& device) noexcept : device_(device) {}
  RetiredModules(const RetiredModules&) = delete;  // it owns modules
  RetiredModules& operator=(const RetiredModules&) = delete;

  /// Notes that the module exists, until forget().
  void add(Module& module);
  void forget(Module& module) noexcept;
  /// Takes over an added module if pending work may need it; returns false if no work is pending.
  bool keep_until_over(Module& module);
  /// Destroys the retired modules whose work is done.
  void sweep();
  /// Destroys all modules. Called when nothing runs any more.
  void close(FirstFailure& failure) noexcept;

 private:
  struct Entry {
    Module* module;
    bool retired;
    PendingWork pending;
  };

  Device& device_;
  std::mutex mutex_;  // guards modules_; PendingWork is queried under it
  std::vector<Entry> modules_;
};

}  // namespace anyplace::levelzero
