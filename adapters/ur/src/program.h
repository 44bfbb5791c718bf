// SPDX-License-Identifier: Apache-2.0
//
// A program: an image, in an intermediate language for all devices of its context or in binaries for some, and the
// modules that were made of it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <anyplace/kernel.h>

#include "context.h"
#include "handle.h"

namespace anyplace_ur {

using Image = std::vector<std::byte>;

/// A program on one of its devices.
struct DeviceProgram {
  Image binary;  ///< empty where the program's IL serves
  anyplace::Module module;
  /// Modules of the same image for kernels that have local memory, which must be told when an image is loaded: by the
  /// kernel's name and the argument's number.
  std::map<std::pair<std::string, int>, anyplace::Module> with_local;
  ur_program_build_status_t status = UR_PROGRAM_BUILD_STATUS_NONE;
  ur_program_binary_type_t type = UR_PROGRAM_BINARY_TYPE_NONE;
  std::string options;
  std::string log;
};

}  // namespace anyplace_ur

struct ur_program_handle_t_ : anyplace_ur::HandleBase {
  ur_program_handle_t_(ur_context_handle_t owner, std::vector<ur_device_handle_t> list, anyplace_ur::Image il);

  const anyplace_ur::Image& image(ur_device_handle_t device) const;
  /// Loads the image on a device. Throws UR_RESULT_ERROR_PROGRAM_BUILD_FAILURE with the compiler's log.
  void build(ur_device_handle_t device, const char* options, ur_program_binary_type_t type);
  /// Throws UR_RESULT_ERROR_INVALID_PROGRAM_EXECUTABLE for a device that it isn't built for, and
  /// UR_RESULT_ERROR_INVALID_KERNEL_NAME.
  anyplace::KernelView kernel(ur_device_handle_t device, const std::string& name);
  /// The same for a launch whose argument `local_argument` is local memory.
  anyplace::KernelView kernel_with_local(ur_device_handle_t device, const std::string& name, int local_argument);
  /// A variable of the program. Throws as kernel() does, with UR_RESULT_ERROR_INVALID_VALUE for an unknown one.
  anyplace::ModuleGlobal global(ur_device_handle_t device, const std::string& name);
  /// Devices that it is built for.
  std::vector<ur_device_handle_t> built() const;

  const anyplace_ur::Hold<ur_context_handle_t_> context;
  const std::vector<ur_device_handle_t> devices;
  const anyplace_ur::Image il;  ///< empty for a program made of binaries

  mutable std::mutex mutex;
  std::map<ur_device_handle_t, anyplace_ur::DeviceProgram> on;
};
