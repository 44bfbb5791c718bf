// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device.h"
#include "program.h"

namespace opencl_backend {
namespace {

/// Entry `index` of an array with a stride, however large the other side's struct is.
template <class T>
T element(const T* array, std::size_t stride, std::size_t index) {
  T copy{};
  std::memcpy(&copy, reinterpret_cast<const char*>(array) + index * stride, std::min(stride, sizeof(T)));
  return copy;
}

cl_uint count_parameters(const Ref<cl_kernel>& kernel) {
  cl_uint count = 0;
  check(api().GetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof(count), &count, nullptr), "clGetKernelInfo");
  return count;
}

/// What the driver says of a kernel that was compiled from OpenCL C.
std::vector<Parameter> parameters_of(const Ref<cl_kernel>& kernel) {
  std::vector<Parameter> parameters;
  const cl_uint count = count_parameters(kernel);
  for (cl_uint i = 0; i < count; ++i) {
    cl_kernel_arg_address_qualifier space = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    check(api().GetKernelArgInfo(kernel.get(), i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof(space), &space, nullptr),
          "clGetKernelArgInfo");
    parameters.push_back(space == CL_KERNEL_ARG_ADDRESS_LOCAL     ? Parameter::shared
                         : space == CL_KERNEL_ARG_ADDRESS_PRIVATE ? Parameter::value
                                                                  : Parameter::address);
  }
  return parameters;
}

}  // namespace

// ---- Modules

Module::Module(Device& device, const anyplace_module_desc& desc) : device_(device) {
  for (std::uint32_t i = 0; i < desc.metadata_count; ++i) {
    const anyplace_kernel_metadata entry = element(desc.metadata, desc.metadata_stride, i);
    shared_arguments_[entry.name] = entry.shared_argument;
  }
  program_ = build_program(device, desc);
  if (desc.format == ANYPLACE_IMAGE_SPIRV) parameters_ = spirv_kernels(desc.image, desc.image_bytes);
}

Kernel& Module::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return *found->second;
  cl_int code = CL_SUCCESS;
  Ref<cl_kernel> made(api().CreateKernel(program_.get(), name.c_str(), &code));
  if (code == CL_INVALID_KERNEL_NAME) {
    char names[1024] = "";
    api().GetProgramInfo(program_.get(), CL_PROGRAM_KERNEL_NAMES, sizeof(names) - 1, names, nullptr);
    refuse(ANYPLACE_STATUS_NO_SUCH_KERNEL, "the module has no kernel " + name + "; it has: " + names, code);
  }
  check(code, "clCreateKernel");
  const auto known = parameters_.find(name);
  std::vector<Parameter> parameters = known == parameters_.end() ? parameters_of(made) : known->second;
  if (parameters.size() != count_parameters(made)) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, "the SPIR-V says that kernel " + name + " has " +
                                              std::to_string(parameters.size()) + " parameters, the driver " +
                                              std::to_string(count_parameters(made)));
  }
  const auto shared = shared_arguments_.find(name);
  auto kernel = std::make_unique<Kernel>(std::move(made), name, std::move(parameters),
                                         shared == shared_arguments_.end() ? -1 : shared->second);
  return *kernels_.emplace(name, std::move(kernel)).first->second;
}

// ---- Kernels

Kernel::Kernel(Ref<cl_kernel> kernel, std::string name, std::vector<Parameter> parameters, std::int32_t shared_argument)
    : name_(std::move(name)), parameters_(std::move(parameters)), kernel_(std::move(kernel)) {
  check_parameters(shared_argument);
  own_shared_bytes_ = group_info<cl_ulong>(CL_KERNEL_LOCAL_MEM_SIZE);
}

template <class T>
T Kernel::group_info(cl_kernel_work_group_info what) const {
  T value{};
  // Of the one device in the context.
  check(api().GetKernelWorkGroupInfo(kernel_.get(), nullptr, what, sizeof(value), &value, nullptr),
        "clGetKernelWorkGroupInfo");
  return value;
}

void Kernel::attributes(anyplace_kernel_attributes& out) const {
  const std::size_t threads = group_info<std::size_t>(CL_KERNEL_WORK_GROUP_SIZE);
  out.max_threads_per_block = static_cast<std::uint32_t>(std::min<std::size_t>(threads, UINT32_MAX));
  out.registers = UINT32_MAX;
  out.sub_group_size = UINT32_MAX;
  out.shared_bytes = own_shared_bytes_;
  out.local_bytes = group_info<cl_ulong>(CL_KERNEL_PRIVATE_MEM_SIZE);
  out.constant_bytes = ANYPLACE_UNKNOWN;
}

void Kernel::check_parameters(std::int32_t shared_argument) {
  const auto shared = std::count(parameters_.begin(), parameters_.end(), Parameter::shared);
  expected_ = parameters_.size() - static_cast<std::size_t>(shared);
  if (shared > 1) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE,
           "kernel " + name_ + " has " + std::to_string(shared) + " __local parameters; a launch has memory for one");
  }
  const auto index = static_cast<std::size_t>(shared_argument);
  if (shared_argument >= 0 && (index >= parameters_.size() || parameters_[index] != Parameter::shared)) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, "the metadata of kernel " + name_ + " say that parameter " +
                                              std::to_string(shared_argument) +
                                              " is its shared memory; it is no __local parameter");
  }
}

void Kernel::set_argument(cl_uint index, const anyplace_argument& argument) {
  if (parameters_[index] == Parameter::address) {
    if (argument.size != sizeof(anyplace_address)) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "parameter " + std::to_string(index) + " of kernel " + name_ +
                                                   " is a pointer; the argument has " + std::to_string(argument.size) +
                                                   " bytes");
    }
    anyplace_address address = 0;
    std::memcpy(&address, argument.value, sizeof(address));
    check(api().SetKernelArgSVMPointer(kernel_.get(), index, anyplace::backend::from_handle<void>(address)),
          "clSetKernelArgSVMPointer");
    return;
  }
  const cl_int code = api().SetKernelArg(kernel_.get(), index, argument.size, argument.value);
  if (code == CL_INVALID_ARG_SIZE) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
           "parameter " + std::to_string(index) + " of kernel " + name_ +
               " has another size than the argument, which has " + std::to_string(argument.size) + " bytes",
           code);
  }
  check(code, "clSetKernelArg");
}

void Kernel::set_arguments(const anyplace_launch& launch) {
  if (launch.argument_count != expected_) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "kernel " + name_ + " takes " + std::to_string(expected_) +
                                                 " arguments, got " + std::to_string(launch.argument_count));
  }
  std::size_t next = 0;
  for (cl_uint i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i] == Parameter::shared) {
      // OpenCL refuses 0 bytes.
      const std::size_t bytes = std::max<std::size_t>(launch.shared_bytes, 1);
      check(api().SetKernelArg(kernel_.get(), i, bytes, nullptr), "clSetKernelArg");
    } else {
      set_argument(i, element(launch.arguments, launch.argument_stride, next++));
    }
  }
}

void Kernel::refuse_size(cl_int code, const anyplace_launch& launch) const {
  const auto product = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "kernel " + name_ + " can't run in blocks of " + std::to_string(launch.block[0]) + " x " +
             std::to_string(launch.block[1]) + " x " + std::to_string(launch.block[2]) + " (" +
             std::to_string(product) + ") threads: it needs too much for that many, or asks for another size itself",
         code);
}

void Kernel::launch(Stream& stream, const anyplace_launch& launch) {
  std::size_t global[3];
  std::size_t local[3];
  for (int i = 0; i < 3; ++i) {
    local[i] = launch.block[i];
    global[i] = std::size_t{launch.grid[i]} * launch.block[i];
  }
  stream.submit("clEnqueueNDRangeKernel", [&](cl_command_queue queue, cl_event* event) {
    const std::lock_guard lock(mutex_);
    set_arguments(launch);
    const cl_int code = api().EnqueueNDRangeKernel(queue, kernel_.get(), 3, nullptr, global, local, 0, nullptr, event);
    if (code == CL_INVALID_WORK_GROUP_SIZE || code == CL_INVALID_WORK_ITEM_SIZE) refuse_size(code, launch);
    return code;
  });
}

}  // namespace opencl_backend
