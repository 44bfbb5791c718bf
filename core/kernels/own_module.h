// SPDX-License-Identifier: Apache-2.0
//
// OwnModule: a module of the library's own kernels, on each device that uses it. It is loaded at the device's first
// use, and kept until its backend ends.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/kernel.h"
#include "anyplace/kernel_images.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Declare it as a static NoDestructor<OwnModule>. The Subsystem of its room calls end() in `end_unused`.
class OwnModule {
 public:
  constexpr OwnModule() noexcept = default;
  OwnModule(const OwnModule&) = delete;  // its mutex guards one list
  OwnModule& operator=(const OwnModule&) = delete;

  /// The module of these images, the same at each call. Loads it if need be, also after a reset of the device. Throws
  /// what Module's constructor from images throws.
  std::shared_ptr<const Module> on(DeviceState& device, const KernelImages& images, const char* operation);
  /// The module of these images, as on() returns it; null for a device that takes no modules or none of the images,
  /// which is found out once.
  std::shared_ptr<const Module> on_if_taken(DeviceState& device, const KernelImages& images, const char* operation);
  /// Releases the modules. Called at exit, because backends count the objects that weren't destroyed.
  void end() noexcept;

 private:
  struct Loaded {
    const DeviceState* device;
    std::shared_ptr<const Module> module;  ///< null: the device takes none of the images
  };

  /// Whether it is known what `device` has, and it still exists; then sets `module` to it.
  bool find(const DeviceState& device, std::shared_ptr<const Module>& module);
  /// Keeps the module and returns it. If another thread has loaded one at the same time, returns that one instead.
  std::shared_ptr<const Module> keep(const DeviceState& device, std::shared_ptr<const Module> made);

  std::mutex mutex_;  // guards loaded_; a leaf
  std::vector<Loaded> loaded_;
};

}  // namespace anyplace::detail
