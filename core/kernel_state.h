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

/// What a launch's first 32 bytes are compared with in few instructions: from struct_size to argument_count, each
/// number n as n - least <= most. All within 31 bits: what a device allows beyond goes the long way.
struct LaunchLimits {
  static constexpr std::uint32_t least[8] = {0, 1, 1, 1, 1, 1, 1, 0};
  alignas(16) std::int32_t most[8] = {-1, -1, -1, -1, -1, -1, -1, -1};  ///< nothing is within them
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
  LaunchLimits limits;  ///< the same, for the short way of a module's kernel
  /// Of a callable's parameters.
  std::vector<std::uint32_t> argument_sizes;

  /// Destroys a callable's kernel; inside a callback, the service thread does.
  static void dispose(KernelState* kernel) noexcept;
};

SlotTable<ModuleState>& modules() noexcept;
extern constinit Everlasting<SlotTable<KernelState>> kernel_table;
inline SlotTable<KernelState>& kernels() noexcept { return kernel_table.value; }

/// Fills the limits in. Throws what asking for the properties throws.
void set_limits(KernelState& kernel, const char* operation);

}  // namespace anyplace::detail
