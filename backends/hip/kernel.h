// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a hipFunction_t, and the facts by which a wrong launch is refused before anything runs. A launch takes no
// lock and allocates nothing.
#pragma once

#include <string>

#include "device_base.h"

namespace anyplace::hip {

class Stream;

class Kernel {
 public:
  /// The device's context is current.
  Kernel(DeviceBase& device, hipFunction_t function, const char* name);
  Kernel(const Kernel&) = delete;  // handles point at it
  Kernel& operator=(const Kernel&) = delete;

  /// Throws INVALID_ARGUMENT for more threads than the kernel's registers allow and for more shared memory than the
  /// kernel leaves. HIP doesn't tell a kernel's parameters, so wrong arguments aren't noticed, as in HIP itself.
  void launch(const Stream& stream, const anyplace_launch& launch);

  static constexpr std::uint32_t max_arguments = 1024;
  /// For callers that launch the kernel in another way, such as graphs: checks what launch() checks before it calls
  /// HIP. `pointers` has max_arguments elements.
  void prepare(const anyplace_launch& launch, void** pointers) const;

  DeviceBase& device() const noexcept { return device_; }
  hipFunction_t native() const noexcept { return function_; }
  void attributes(anyplace_kernel_attributes& out) const;
  std::uint32_t occupancy(std::uint32_t threads, std::uint64_t shared_bytes) const;

 private:
  int attribute(hipFunction_attribute attribute) const;
  [[noreturn]] void refuse_shared(const anyplace_launch& launch) const;

  DeviceBase& device_;
  const hipFunction_t function_;
  const std::string name_;
  std::uint64_t max_threads_ = 0;
  std::uint64_t shared_limit_ = 0;  ///< of dynamic shared memory; AMD's devices allow all of it at once
};

}  // namespace anyplace::hip
