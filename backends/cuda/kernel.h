// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a CUfunction, and what has to be known of it to refuse a wrong launch before anything runs. A launch takes no
// lock and allocates nothing.
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

  /// Throws INVALID_ARGUMENT for arguments that don't fit, for more threads than the kernel's registers allow and for
  /// more shared memory than it leaves.
  void launch(const Stream& stream, const anyplace_launch& launch);

  static constexpr std::uint32_t max_arguments = 1024;
  /// For what launches it in another way: throws as launch() does before it calls CUDA, and allows the shared memory.
  /// `pointers` are max_arguments.
  void prepare(const anyplace_launch& launch, void** pointers);
  void check_launch(const Called<CUresult>& made, const anyplace_launch& launch) const;

  CUfunction native() const noexcept { return function_; }
  void attributes(anyplace_kernel_attributes& out) const;
  std::uint32_t occupancy(std::uint32_t threads, std::uint64_t shared_bytes);

 private:
  static constexpr std::uint32_t unknown = UINT32_MAX;

  int attribute(CUfunction_attribute attribute) const;
  void find_parameters();
  /// What launch() does in all but the plainest case.
  void launch_carefully(const Stream& stream, const anyplace_launch& launch);
  /// After a result that wasn't success. Launches in the device's context if that was what was missing, else throws.
  void launch_again(CUresult result, const Stream& stream, const anyplace_launch& launch);
  /// Checks the arguments, too. `pointers` are max_arguments.
  void take_arguments(const anyplace_launch& launch, void** pointers) const;
  CUresult call(const Stream& stream, const anyplace_launch& launch, void** arguments) const;
  [[noreturn]] void refuse_arguments(const anyplace_launch& launch) const;
  /// Allows the kernel all the dynamic shared memory that the device has for it. Once.
  void raise_shared_limit(std::uint64_t wanted);

  DeviceBase& device_;
  const CUfunction function_;
  const std::string name_;
  std::uint64_t max_threads_ = 0;
  std::uint64_t static_shared_bytes_ = 0;
  std::atomic<std::uint64_t> shared_limit_{0};  ///< of dynamic shared memory, as it is set
  std::uint32_t parameter_count_ = unknown;     ///< unknown if the driver doesn't tell
  /// How argument_count and argument_stride of a good launch look together. Nothing does if there is no telling.
  std::uint64_t known_form_ = UINT64_MAX;
  std::vector<std::uint32_t> parameter_sizes_;
};

}  // namespace anyplace::cuda
