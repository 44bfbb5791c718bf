// SPDX-License-Identifier: Apache-2.0
// Loading one image, and ending the module. Every way to make a Module uses this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "anyplace/kernel.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Returns the new module's handle. Throws what Module's constructor from bytes throws.
std::uint64_t load_module(DeviceState& device, std::span<const std::byte> image, const ModuleOptions& options,
                          const char* operation, std::span<const KernelAlias> aliases = {});

/// Says that a module, which nobody else knows yet, was made of a string: an Error of it says then what a kernel there
/// is.
void say_of_string(std::uint64_t id, const char* operation);

/// Closes the handles of the module and its kernels, also at exit. Does nothing for a handle that is closed.
void close_module(std::uint64_t id) noexcept;

}  // namespace anyplace::detail
