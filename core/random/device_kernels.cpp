// SPDX-License-Identifier: Apache-2.0
#include "random/device_kernels.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "anyplace_random_kernels.h"  // made by anyplace_add_kernels
#include "handles/deferred_release.h"
#include "kernels/kernel_state.h"
#include "kernels/load_module.h"
#include "plugins/device_properties.h"
#include "random/subsystem.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

struct Loaded {
  const DeviceState* device;
  std::shared_ptr<const Module> module;
};

struct AllLoaded {
  std::mutex mutex;  // guards `of`; a leaf
  std::vector<Loaded> of;
};
constinit NoDestructor<AllLoaded> all_loaded;

std::shared_ptr<const Module> loaded_on(const DeviceState& device) {
  const std::lock_guard lock(all_loaded.value.mutex);
  for (const Loaded& loaded : all_loaded.value.of) {
    if (loaded.device == &device) return loaded.module;
  }
  return nullptr;
}

/// Two threads may load at the same time; the module of one of them is kept.
std::shared_ptr<const Module> load_on(DeviceState& device, const char* operation) {
  std::shared_ptr<const Module> made;
  try {
    made = std::make_shared<const Module>(Device(&device), anyplace_random_kernels);
  } catch (const Error& error) {
    throw renamed(error, operation);
  }
  std::shared_ptr<const Module> replaced;  // goes outside of the lock
  const std::lock_guard lock(all_loaded.value.mutex);
  for (Loaded& loaded : all_loaded.value.of) {
    if (loaded.device != &device) continue;
    if (modules().try_pin(loaded.module->id())) return loaded.module;
    replaced = std::exchange(loaded.module, made);  // its handle went with a reset of the device
    return made;
  }
  all_loaded.value.of.push_back({&device, made});
  return made;
}

/// At exit: backends count what is left of theirs.
void end_modules() noexcept {
  std::vector<Loaded> all;
  {
    const std::lock_guard lock(all_loaded.value.mutex);
    all.swap(all_loaded.value.of);
  }
  if (all.empty()) return;
  for (const Loaded& loaded : all) close_module(loaded.module->id());
  release_all_unused();
}

}  // namespace

KernelView random_kernel(DeviceState& device, const char* name, const char* operation) {
  std::shared_ptr<const Module> module = loaded_on(device);
  if (module == nullptr || !modules().try_pin(module->id())) module = load_on(device, operation);
  return module->kernel(name);
}

LaunchConfig random_shape(DeviceState& device, std::uint64_t groups, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  const std::uint64_t most_blocks = std::max<std::uint64_t>(properties.max_grid[0], 1);
  if (has_capability(device, Capability::host_kernels, operation)) {
    // A thread goes over many groups by itself. Fewer blocks than this, and processors would have nothing to do.
    constexpr std::uint64_t groups_of_a_block = 512;
    const std::uint64_t blocks = (groups + groups_of_a_block - 1) / groups_of_a_block;
    return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, most_blocks)), 1};
  }
  constexpr std::uint64_t counters_of_a_group = 16;
  const std::uint64_t threads = std::clamp<std::uint64_t>(properties.max_threads_per_block, 1, 256);
  const std::uint64_t units = properties.compute_units == 0 ? 128 : properties.compute_units;
  const std::uint64_t counters = groups > UINT64_MAX / counters_of_a_group ? UINT64_MAX : groups * counters_of_a_group;
  const std::uint64_t blocks = counters / threads + (counters % threads != 0 ? 1 : 0);
  const std::uint64_t enough = std::min(units * 32, most_blocks);
  return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, enough)),
          static_cast<std::uint32_t>(threads)};
}

constinit const Subsystem random_subsystem{.end_unused = end_modules};

}  // namespace anyplace::detail
