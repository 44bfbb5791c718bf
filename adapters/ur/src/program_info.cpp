// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "entries.h"
#include "info.h"
#include "program.h"

namespace anyplace_ur {

namespace {

std::vector<std::size_t> binary_sizes(const ur_program_handle_t_& program) {
  std::vector<std::size_t> sizes;
  for (const ur_device_handle_t device : program.devices) sizes.push_back(program.image(device).size());
  return sizes;
}

/// The caller gives an array of pointers, each to room for a binary.
void tell_binaries(const ur_program_handle_t_& program, std::size_t size, void* value, std::size_t* size_needed) {
  const std::size_t needed = program.devices.size() * sizeof(unsigned char*);
  if (size_needed != nullptr) *size_needed = needed;
  if (value == nullptr) return;
  require(size >= needed, UR_RESULT_ERROR_INVALID_SIZE, "there is too little room for the answer");
  auto* const room = static_cast<unsigned char**>(value);
  for (std::size_t i = 0; i < program.devices.size(); ++i) {
    const Image& image = program.image(program.devices[i]);
    if (room[i] != nullptr && !image.empty()) std::memcpy(room[i], image.data(), image.size());
  }
}

}  // namespace

ur_result_t urProgramGetInfo(ur_program_handle_t program, ur_program_info_t name, size_t size, void* value,
                             size_t* size_needed) {
  return guarded("urProgramGetInfo", [&] {
    require_handle(program);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_PROGRAM_INFO_REFERENCE_COUNT:
        return write(program->references());
      case UR_PROGRAM_INFO_CONTEXT:
        return write(program->context.get());
      case UR_PROGRAM_INFO_NUM_DEVICES:
        return write(static_cast<uint32_t>(program->devices.size()));
      case UR_PROGRAM_INFO_DEVICES:
        return write.array(program->devices);
      case UR_PROGRAM_INFO_IL:
        return write.array(program->il);
      case UR_PROGRAM_INFO_BINARY_SIZES:
        return write.array(binary_sizes(*program));
      case UR_PROGRAM_INFO_BINARIES:
        return tell_binaries(*program, size, value, size_needed);
      case UR_PROGRAM_INFO_NUM_KERNELS:
      case UR_PROGRAM_INFO_KERNEL_NAMES:
        refuse_query();  // a module finds kernels by their names, and lists none
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a program");
    }
  });
}

ur_result_t urProgramGetBuildInfo(ur_program_handle_t program, ur_device_handle_t device, ur_program_build_info_t name,
                                  size_t size, void* value, size_t* size_needed) {
  return guarded("urProgramGetBuildInfo", [&] {
    require_handle(program);
    require_handle(device);
    const InfoWriter write(size, value, size_needed);
    const std::lock_guard lock(program->mutex);
    const auto found = program->on.find(device);
    require(found != program->on.end(), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the program's");
    const DeviceProgram& here = found->second;
    switch (name) {
      case UR_PROGRAM_BUILD_INFO_STATUS:
        return write(here.status);
      case UR_PROGRAM_BUILD_INFO_OPTIONS:
        return write.text(here.options);
      case UR_PROGRAM_BUILD_INFO_LOG:
        return write.text(here.log);
      case UR_PROGRAM_BUILD_INFO_BINARY_TYPE:
        return write(here.type);
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a build");
    }
  });
}

}  // namespace anyplace_ur
