// SPDX-License-Identifier: Apache-2.0
//
// ModuleState and KernelState: the objects of modules' and kernels' handles.
//
// Invariant: a kernel of a module pins the module, so the backend unloads it only after the last call that uses one of
// its kernels. Their handles are closed with the module's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "handles/slots.h"
#include "runtime/backend.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {

constexpr std::size_t max_arguments = 1024;         ///< the most arguments of a kernel
constexpr std::size_t max_name_length = 64 * 1024;  ///< the longest name, which may be a mangled one

struct ModuleState {
  static constexpr HandleKind handle_kind = HandleKind::module;

  DeviceState* device = nullptr;
  anyplace_module handle = 0;
  std::map<std::string, std::string, std::less<>> aliases;  ///< the names in the image, by other names of the kernels
  bool is_of_string = false;                                ///< set before anybody else knows the module

  std::mutex
      mutex;  // guards kernels and closed; a backend's module_kernel is called under it, so a name is asked for once
  std::map<std::string, std::uint64_t, std::less<>> kernels;  ///< name -> handle
  /// The module's handle is closed, so no more kernels are made.
  bool closed = false;

  /// Unloads the module; inside a callback, the service thread does.
  static void dispose(ModuleState* module) noexcept;
};

struct KernelState {
  static constexpr HandleKind handle_kind = HandleKind::kernel;

  DeviceState* device = nullptr;
  anyplace_kernel handle = 0;
  std::string name;         ///< empty for a callable
  Pin<ModuleState> module;  ///< empty for a callable
  /// The device's limits, copied here so that a launch reads one object.
  std::uint32_t max_grid[3] = {};
  std::uint32_t max_block[3] = {};
  std::uint32_t max_threads_per_block = 0;
  std::uint64_t max_shared_bytes = 0;
  /// The sizes of a callable's parameters.
  std::vector<std::uint32_t> argument_sizes;

  /// Destroys a callable's kernel; inside a callback, the service thread does.
  static void dispose(KernelState* kernel) noexcept;
};

SlotTable<ModuleState>& modules() noexcept;
extern constinit NoDestructor<SlotTable<KernelState>> kernel_table;
inline SlotTable<KernelState>& kernels() noexcept { return kernel_table.value; }
template <>
inline SlotTable<KernelState>& table_of<KernelState>() noexcept {
  return kernels();
}

/// Fills in the limits. Throws what asking for the properties throws.
void set_limits(KernelState& kernel, const char* operation);

}  // namespace anyplace::detail
