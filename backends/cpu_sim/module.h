// SPDX-License-Identifier: Apache-2.0
//
// A Module is a loaded image, and has those of its kernels that were asked for.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel.h"
#include "library.h"
#include "ref.h"

namespace anyplace::cpu_sim {

class Module {
 public:
  /// Throws Failure(INVALID_IMAGE) with the reason.
  Module(backend::Host host, const anyplace_module_desc& desc);

  /// Returns the kernel of that name, the same one at each call. The module owns it. Throws Failure(NO_SUCH_KERNEL),
  /// which names some that exist.
  Kernel& kernel(const char* name);

  /// Returns a variable that the image exports; it lives as long as the image is loaded. Throws
  /// Failure(NO_SUCH_GLOBAL).
  std::span<const std::byte> variable(const char* name) const;
  /// Returns the image, as the dynamic linker names it.
  std::uint64_t native() const noexcept { return library_->native(); }

  /// Gives every kernel's reference to `retire`. The caller does so before the module is destroyed.
  template <class Retire>
  void release_kernels(Retire&& retire) {
    for (auto& [name, kernel] : kernels_) retire(std::move(kernel));
    kernels_.clear();
  }

 private:
  const backend::Host host_;
  const Ref<Library> library_;
  const std::vector<std::string> functions_;  // It has some of the functions, for messages.

  std::mutex mutex_;
  std::map<std::string, Ref<Kernel>> kernels_;  // mutex_ guards it.
};

}  // namespace anyplace::cpu_sim
