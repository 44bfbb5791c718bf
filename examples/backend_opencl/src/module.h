// SPDX-License-Identifier: Apache-2.0
//
// Module and Kernel: OpenCL C or SPIR-V, compiled for one device, and its kernels.
//
// A kernel object of OpenCL holds its arguments, so setting them and enqueueing is one step under the kernel's lock.
// Dynamic shared memory is a __local argument: the launch doesn't count it among its arguments, it gets shared_bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "opencl.h"
#include "spirv.h"
#include "stream.h"

namespace opencl_backend {

class Kernel {
 public:
  /// `shared_argument` as in anyplace_kernel_metadata. Throws INVALID_IMAGE for a kernel that can't be launched from
  /// here.
  Kernel(Ref<cl_kernel> kernel, std::string name, std::vector<Parameter> parameters, std::int32_t shared_argument);

  void launch(Stream& stream, const anyplace_launch& launch);
  void attributes(anyplace_kernel_attributes& out) const;
  cl_kernel native() const noexcept { return kernel_.get(); }

 private:
  template <class T>
  T group_info(cl_kernel_work_group_info what) const;
  void check_parameters(std::int32_t shared_argument);
  void set_arguments(const anyplace_launch& launch);
  void set_argument(cl_uint index, const anyplace_argument& argument);
  [[noreturn]] void refuse_size(cl_int code, const anyplace_launch& launch) const;

  const std::string name_;
  const std::vector<Parameter> parameters_;
  std::size_t expected_ = 0;        // arguments of a launch
  std::uint64_t own_shared_bytes_;  // OpenCL counts what a launch asked for, too, once there was one
  std::mutex mutex_;                // guards kernel_ and its arguments
  Ref<cl_kernel> kernel_;
};

class Module {
 public:
  /// Throws INVALID_IMAGE with the compiler's log.
  Module(Device& device, const anyplace_module_desc& desc);
  Module(const Module&) = delete;  // a handle points at it
  Module& operator=(const Module&) = delete;

  Device& device() const noexcept { return device_; }
  cl_program native() const noexcept { return program_.get(); }
  /// Throws NO_SUCH_KERNEL, which lists those that there are.
  Kernel& kernel(const std::string& name);

 private:
  Device& device_;
  Program program_;
  std::map<std::string, std::int32_t> shared_arguments_;
  std::map<std::string, std::vector<Parameter>> parameters_;  // what a SPIR-V image says; empty for OpenCL C
  std::mutex mutex_;                                          // guards kernels_
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace opencl_backend
