// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <anyplace/kernel.h>

#include "handle.h"
#include "program.h"

/// A kernel of a program, on every device that the program is built for.
struct ur_kernel_handle_t_ : anyplace_ur::HandleBase {
  ur_kernel_handle_t_(ur_program_handle_t of, std::string its_name) : program(of), name(std::move(its_name)) {}

  /// What is known of it on a device, and all zero if it isn't built for that.
  anyplace::KernelAttributes attributes(ur_device_handle_t device) const;

  const anyplace_ur::Hold<ur_program_handle_t_> program;
  const std::string name;
};
