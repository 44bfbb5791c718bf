// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <algorithm>

#include <anyplace/error.h>

#include "entries.h"
#include "info.h"

ur_program_handle_t_::ur_program_handle_t_(ur_context_handle_t owner, std::vector<ur_device_handle_t> list,
                                           anyplace_ur::Image bytes)
    : context(owner), devices(std::move(list)), il(std::move(bytes)) {
  for (const ur_device_handle_t device : devices) on.emplace(device, anyplace_ur::DeviceProgram());
}

const anyplace_ur::Image& ur_program_handle_t_::image(ur_device_handle_t device) const {
  const anyplace_ur::Image& binary = on.at(device).binary;
  return binary.empty() ? il : binary;
}

void ur_program_handle_t_::build(ur_device_handle_t device, const char* options, ur_program_binary_type_t type) {
  const std::lock_guard lock(mutex);
  const auto known = on.find(device);
  anyplace_ur::require(known != on.end(), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the program's");
  anyplace_ur::DeviceProgram& here = known->second;
  here.options = options == nullptr ? "" : options;
  try {
    here.module = anyplace::Module(device->device, image(device), {.compiler_options = here.options, .metadata = {}});
    here.status = UR_PROGRAM_BUILD_STATUS_SUCCESS;
    here.type = type;
    here.log.clear();
  } catch (const anyplace::Error& error) {
    here.status = UR_PROGRAM_BUILD_STATUS_ERROR;
    here.log = error.what();
    if (error.code() != anyplace::ErrorCode::invalid_image && error.code() != anyplace::ErrorCode::unsupported) throw;
    throw anyplace_ur::Failure(UR_RESULT_ERROR_PROGRAM_BUILD_FAILURE, error.what());
  }
}

anyplace::KernelView ur_program_handle_t_::kernel(ur_device_handle_t device, const std::string& name) {
  const std::lock_guard lock(mutex);
  const auto known = on.find(device);
  anyplace_ur::require(known != on.end() && known->second.module, UR_RESULT_ERROR_INVALID_PROGRAM_EXECUTABLE,
                       "the program isn't built for this device");
  return known->second.module.kernel(name);
}

anyplace::KernelView ur_program_handle_t_::kernel_with_local(ur_device_handle_t device, const std::string& name,
                                                             int local_argument) {
  const std::lock_guard lock(mutex);
  anyplace_ur::DeviceProgram& here = on.at(device);
  anyplace::Module& module = here.with_local[{name, local_argument}];
  if (!module) {
    module = anyplace::Module(device->device, image(device),
                              {.compiler_options = here.options, .metadata = {{name, local_argument}}});
  }
  return module.kernel(name);
}

anyplace::ModuleGlobal ur_program_handle_t_::global(ur_device_handle_t device, const std::string& name) {
  const std::lock_guard lock(mutex);
  const auto known = on.find(device);
  anyplace_ur::require(known != on.end() && known->second.module, UR_RESULT_ERROR_INVALID_PROGRAM_EXECUTABLE,
                       "the program isn't built for this device");
  return known->second.module.global(name);
}

std::vector<ur_device_handle_t> ur_program_handle_t_::built() const {
  const std::lock_guard lock(mutex);
  std::vector<ur_device_handle_t> list;
  for (const ur_device_handle_t device : devices) {
    if (on.at(device).module) list.push_back(device);
  }
  return list;
}

namespace anyplace_ur {

namespace {

Image bytes_of(const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return Image(begin, begin + size);
}

void build_all(ur_program_handle_t program, const std::vector<ur_device_handle_t>& devices, const char* options,
               ur_program_binary_type_t type) {
  for (const ur_device_handle_t device : devices) program->build(device, options, type);
}

std::vector<ur_device_handle_t> listed(uint32_t count, ur_device_handle_t* devices) {
  require_pointer(devices);
  require(count != 0, UR_RESULT_ERROR_INVALID_VALUE, "there is no device to build for");
  return {devices, devices + count};
}

/// A program of one other; anyplace's modules are whole, so several can't be linked.
ur_program_handle_t link(ur_context_handle_t context, const std::vector<ur_device_handle_t>& devices, uint32_t count,
                         const ur_program_handle_t* programs, const char* options) {
  require_pointer(programs);
  require(count != 0, UR_RESULT_ERROR_INVALID_SIZE, "there is no program to link");
  require(count == 1, UR_RESULT_ERROR_UNSUPPORTED_FEATURE, "anyplace's modules are whole: there is no linker");
  require_handle(programs[0]);
  auto linked = std::make_unique<ur_program_handle_t_>(context, devices, programs[0]->il);
  for (const ur_device_handle_t device : devices) {
    const auto from = programs[0]->on.find(device);
    require(from != programs[0]->on.end(), UR_RESULT_ERROR_INVALID_DEVICE, "the device isn't one of the program's");
    linked->on.at(device).binary = from->second.binary;
  }
  build_all(linked.get(), devices, options, UR_PROGRAM_BINARY_TYPE_EXECUTABLE);
  return linked.release();
}

}  // namespace

ur_result_t urProgramCreateWithIL(ur_context_handle_t context, const void* il, size_t length,
                                  const ur_program_properties_t*, ur_program_handle_t* program) {
  return guarded("urProgramCreateWithIL", [&] {
    require_handle(context);
    require_pointer(il);
    require_pointer(program);
    require(length != 0, UR_RESULT_ERROR_INVALID_SIZE, "the IL is empty");
    *program = new ur_program_handle_t_(context, context->devices, bytes_of(il, length));
  });
}

ur_result_t urProgramCreateWithBinary(ur_context_handle_t context, uint32_t count, ur_device_handle_t* devices,
                                      size_t* lengths, const uint8_t** binaries, const ur_program_properties_t*,
                                      ur_program_handle_t* program) {
  return guarded("urProgramCreateWithBinary", [&] {
    require_handle(context);
    require_pointer(lengths);
    require_pointer(binaries);
    require_pointer(program);
    const std::vector<ur_device_handle_t> list = listed(count, devices);
    auto made = std::make_unique<ur_program_handle_t_>(context, list, Image());
    for (uint32_t i = 0; i < count; ++i) {
      require_handle(list[i]);
      require_pointer(binaries[i]);
      require(lengths[i] != 0, UR_RESULT_ERROR_INVALID_SIZE, "a binary is empty");
      made->on.at(list[i]).binary = bytes_of(binaries[i], lengths[i]);
      made->on.at(list[i]).type = UR_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
    }
    *program = made.release();
  });
}

ur_result_t urProgramBuild(ur_context_handle_t context, ur_program_handle_t program, const char* options) {
  return guarded("urProgramBuild", [&] {
    require_handle(context);
    require_handle(program);
    build_all(program, program->devices, options, UR_PROGRAM_BINARY_TYPE_EXECUTABLE);
  });
}

ur_result_t urProgramBuildExp(ur_program_handle_t program, uint32_t count, ur_device_handle_t* devices,
                              ur_exp_program_flags_t, const char* options) {
  return guarded("urProgramBuildExp", [&] {
    require_handle(program);
    build_all(program, listed(count, devices), options, UR_PROGRAM_BINARY_TYPE_EXECUTABLE);
  });
}

ur_result_t urProgramCompile(ur_context_handle_t context, ur_program_handle_t program, const char* options) {
  return guarded("urProgramCompile", [&] {
    require_handle(context);
    require_handle(program);
    build_all(program, program->devices, options, UR_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
  });
}

ur_result_t urProgramCompileExp(ur_program_handle_t program, uint32_t count, ur_device_handle_t* devices,
                                ur_exp_program_flags_t, const char* options) {
  return guarded("urProgramCompileExp", [&] {
    require_handle(program);
    build_all(program, listed(count, devices), options, UR_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
  });
}

ur_result_t urProgramLink(ur_context_handle_t context, uint32_t count, const ur_program_handle_t* programs,
                          const char* options, ur_program_handle_t* program) {
  return guarded("urProgramLink", [&] {
    require_handle(context);
    require_pointer(program);
    *program = nullptr;
    *program = link(context, context->devices, count, programs, options);
  });
}

ur_result_t urProgramLinkExp(ur_context_handle_t context, uint32_t device_count, ur_device_handle_t* devices,
                             ur_exp_program_flags_t, uint32_t count, const ur_program_handle_t* programs,
                             const char* options, ur_program_handle_t* program) {
  return guarded("urProgramLinkExp", [&] {
    require_handle(context);
    require_pointer(program);
    *program = nullptr;
    *program = link(context, listed(device_count, devices), count, programs, options);
  });
}

ur_result_t urProgramRetain(ur_program_handle_t program) {
  return guarded("urProgramRetain", [&] {
    require_handle(program);
    program->retain();
  });
}

ur_result_t urProgramRelease(ur_program_handle_t program) {
  return guarded("urProgramRelease", [&] {
    require_handle(program);
    release_handle(program);
  });
}

}  // namespace anyplace_ur
