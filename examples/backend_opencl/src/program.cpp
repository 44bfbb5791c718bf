// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <string>

#include "spirv.h"

namespace opencl_backend {
namespace {

std::string build_log(const Program& program, cl_device_id device) {
  std::size_t bytes = 0;
  if (api().GetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS)
    return {};
  std::string log(bytes, '\0');
  if (api().GetProgramBuildInfo(program.get(), device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  return log.c_str();
}

/// "SPIR-V 1.2", as the image says. The version is the second word: 0, major, minor, 0 from the highest byte; the
/// first tells which end of a word comes first.
std::string version_text(const anyplace_module_desc& desc) {
  const auto* const bytes = static_cast<const unsigned char*>(desc.image);
  const bool little = bytes[0] == 0x03;
  return "SPIR-V " + std::to_string(bytes[little ? 6 : 5]) + "." + std::to_string(bytes[little ? 5 : 6]);
}

Program from_text(Device& device, const anyplace_module_desc& desc) {
  const char* text = static_cast<const char*>(desc.image);
  const std::size_t bytes = desc.image_bytes;
  cl_int code = CL_SUCCESS;
  Program program(api().CreateProgramWithSource(device.context().get(), 1, &text, &bytes, &code));
  check(code, "clCreateProgramWithSource");
  return program;
}

Program from_spirv(Device& device, const anyplace_module_desc& desc) {
  const std::string fault = spirv_fault(desc.image, desc.image_bytes);
  if (!fault.empty()) refuse(ANYPLACE_STATUS_INVALID_IMAGE, "the SPIR-V is damaged: " + fault);
  cl_int code = CL_SUCCESS;
  Program program(device.program_with_il()(device.context().get(), desc.image, desc.image_bytes, &code));
  if (code == CL_INVALID_VALUE) {
    refuse(
        ANYPLACE_STATUS_INVALID_IMAGE,
        "the driver doesn't take the image, which is " + version_text(desc) + "; it takes " + device.spirv_versions(),
        code);
  }
  check(code, "clCreateProgramWithIL");
  return program;
}

}  // namespace

Program build_program(Device& device, const anyplace_module_desc& desc) {
  const bool spirv = desc.format == ANYPLACE_IMAGE_SPIRV;
  Program program = spirv ? from_spirv(device, desc) : from_text(device, desc);
  const cl_device_id id = device.id();
  const std::string options = std::string(desc.options == nullptr ? "" : desc.options) + " -cl-kernel-arg-info";
  const cl_int code = api().BuildProgram(program.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (code == CL_BUILD_PROGRAM_FAILURE || code == CL_INVALID_BUILD_OPTIONS || (spirv && code == CL_INVALID_BINARY)) {
    const std::string what = spirv ? "the driver can't build the image, which is " + version_text(desc) +
                                         " (it takes " + device.spirv_versions() + "):\n"
                                   : "the OpenCL C doesn't compile:\n";
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, what + build_log(program, id), code);
  }
  check(code, "clBuildProgram");
  return program;
}

}  // namespace opencl_backend
