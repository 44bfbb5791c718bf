// SPDX-License-Identifier: Apache-2.0
//
// OwnModule: a module of the library's own kernels, on each device that uses it: loaded at the device's first use, and
// kept until its backend ends.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/kernel.h"
#include "anyplace/kernel_images.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Static, as NoDestructor<OwnModule>; its room's Subsystem has end() for `end_unused`.
class OwnModule {
 public:
  constexpr OwnModule() noexcept = default;
  OwnModule(const OwnModule&) = delete;  // its mutex guards one list
  OwnModule& operator=(const OwnModule&) = delete;

  /// The module of these images, the same at each call. Loads it if need be, also after a reset of the device. Throws
  /// what Module's constructor from images throws.
  std::shared_ptr<const Module> on(DeviceState& device, const KernelImages& images, const char* operation);
  /// The same; null for a device that takes no modules or none of the images, which is looked at once.
  std::shared_ptr<const Module> on_if_taken(DeviceState& device, const KernelImages& images, const char* operation);
  /// At exit: backends count what is left of theirs.
  void end() noexcept;

 private:
  struct Loaded {
    const DeviceState* device;
    std::shared_ptr<const Module> module;  ///< null: the device takes none of the images
  };

  /// Whether it is known what `device` has, and that is still there; then `module` is it.
  bool find(const DeviceState& device, std::shared_ptr<const Module>& module);
  /// Two threads may load at the same time; the module of one of them is kept, and returned.
  std::shared_ptr<const Module> keep(const DeviceState& device, std::shared_ptr<const Module> made);

  std::mutex mutex_;  // guards loaded_; a leaf
  std::vector<Loaded> loaded_;
};

}  // namespace anyplace::detail
