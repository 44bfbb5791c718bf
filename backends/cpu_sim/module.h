// SPDX-License-Identifier: Apache-2.0
//
// A loaded image and the kernels that were asked of it.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_MODULE_H
#define ANYPLACE_BACKENDS_CPU_SIM_MODULE_H

#include <anyplace/backend/device_backend.h>

#include <map>
#include <mutex>
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

  /// The kernel of that name, the same one each time, which the module owns. Throws Failure(NO_SUCH_KERNEL), naming
  /// some that exist.
  Kernel& kernel(const char* name);

  /// Hands every kernel's reference to `retire`, before the module goes.
  template <class Retire>
  void release_kernels(Retire&& retire) {
    for (auto& [name, kernel] : kernels_) retire(std::move(kernel));
    kernels_.clear();
  }

 private:
  const backend::Host host_;
  const Ref<Library> library_;
  const std::vector<std::string> functions_;  // some, for messages

  std::mutex mutex_;
  std::map<std::string, Ref<Kernel>> kernels_;  // guarded by mutex_
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_MODULE_H
