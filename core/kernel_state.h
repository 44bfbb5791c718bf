// SPDX-License-Identifier: Apache-2.0
//
// ModuleState and KernelState: what module and kernel handles lead to.
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
#include "backend.h"
#include "everlasting.h"
#include "slots.h"

namespace anyplace::detail {

constexpr std::size_t max_arguments = 1024;  ///< of a kernel

struct ModuleState {
  static constexpr HandleKind handle_kind = HandleKind::module;

  DeviceState* device = nullptr;
  anyplace_module handle = 0;

  std::mutex
      mutex;  // guards kernels and closed; a backend's module_kernel is called under it, so a name is asked for once
  std::map<std::string, std::uint64_t, std::less<>> kernels;  ///< name -> handle
  bool closed = false;                                        ///< no more kernels

  /// Unloads it; inside a callback, the service thread does.
  static void dispose(ModuleState* module) noexcept;
};

struct KernelState {
  static constexpr HandleKind handle_kind = HandleKind::kernel;

  DeviceState* device = nullptr;
  anyplace_kernel handle = 0;
  std::string name;         ///< empty for a callable
  Pin<ModuleState> module;  ///< empty for a callable
  /// What the device allows; copied, so that a launch looks in one place.
  std::uint32_t max_grid[3] = {};
  std::uint32_t max_block[3] = {};
  std::uint32_t max_threads_per_block = 0;
  std::uint64_t max_shared_bytes = 0;
  LaunchLimits limits;       ///< of launches without shared memory whose blocks are lines
  LaunchLimits wide_limits;  ///< of others, which have two more: threads of a block and shared memory
  /// Of a callable's parameters.
  std::vector<std::uint32_t> argument_sizes;

  /// Fills the handle's slot in, and where launches of it are compared; null for a slot beyond the first.
  void describe(Slot& slot, LaunchLimits* limits_of_slot) noexcept;

  /// Destroys a callable's kernel; inside a callback, the service thread does.
  static void dispose(KernelState* kernel) noexcept;
};

SlotTable<ModuleState>& modules() noexcept;
extern constinit Everlasting<SlotTable<KernelState>> kernel_table;
inline SlotTable<KernelState>& kernels() noexcept { return kernel_table.value; }

/// Fills the limits in. Throws what asking for the properties throws.
void set_limits(KernelState& kernel, const char* operation);

}  // namespace anyplace::detail
