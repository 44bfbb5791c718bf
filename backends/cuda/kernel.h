// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a CUfunction, and the facts by which a wrong launch is refused before anything runs. A launch takes no lock
// and allocates nothing.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "device_base.h"

namespace anyplace::cuda {

class Stream;

class Kernel {
 public:
  /// The device's context is current.
  Kernel(DeviceBase& device, CUfunction function, const char* name);
  Kernel(const Kernel&) = delete;  // handles point at it
  Kernel& operator=(const Kernel&) = delete;

  /// Throws INVALID_ARGUMENT for arguments that don't fit, for more threads than the kernel's registers allow, and for
  /// more shared memory than the kernel leaves.
  void launch(const Stream& stream, const anyplace_launch& launch);

  static constexpr std::uint32_t max_arguments = 1024;
  /// For callers that launch the kernel in another way, such as graphs: checks what launch() checks before it calls
  /// CUDA, and allows the shared memory. `pointers` has max_arguments elements.
  void prepare(const anyplace_launch& launch, void** pointers);
  void check_launch(const Called<CUresult>& made, const anyplace_launch& launch) const;

  CUfunction native() const noexcept { return function_; }
  void attributes(anyplace_kernel_attributes& out) const;
  std::uint32_t occupancy(std::uint32_t threads, std::uint64_t shared_bytes);

 private:
  static constexpr std::uint32_t unknown = UINT32_MAX;

  int attribute(CUfunction_attribute attribute) const;
  void find_parameters();
  /// Launches in all cases that the inline part of launch() doesn't handle.
  void launch_carefully(const Stream& stream, const anyplace_launch& launch);
  /// Called after a launch that failed. Launches again in the device's context if that was missing, else throws.
  void launch_again(CUresult result, const Stream& stream, const anyplace_launch& launch);
  /// Checks the arguments and fills `pointers`, which has max_arguments elements.
  void take_arguments(const anyplace_launch& launch, void** pointers) const;
  CUresult call(const Stream& stream, const anyplace_launch& launch, void** arguments) const;
  [[noreturn]] void refuse_arguments(const anyplace_launch& launch) const;
  /// Allows the kernel, once, all the dynamic shared memory that the device has for it.
  void raise_shared_limit(std::uint64_t wanted);

  DeviceBase& device_;
  const CUfunction function_;
  const std::string name_;
  std::uint64_t max_threads_ = 0;
  std::uint64_t static_shared_bytes_ = 0;
  std::atomic<std::uint64_t> shared_limit_{0};  ///< the present limit of dynamic shared memory
  std::uint32_t parameter_count_ = unknown;     ///< unknown if the driver doesn't tell
  /// The bytes of argument_count and argument_stride of a right launch, as one number; a value that no launch has if
  /// the driver doesn't tell the parameters.
  std::uint64_t known_form_ = UINT64_MAX;
  std::vector<std::uint32_t> parameter_sizes_;
};

}  // namespace anyplace::cuda
