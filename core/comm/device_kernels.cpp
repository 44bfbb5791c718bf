// SPDX-License-Identifier: Apache-2.0
#include "comm/device_kernels.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "anyplace_sum_kernels.h"  // made by anyplace_add_kernels
#include "comm/subsystem.h"
#include "handles/deferred_release.h"
#include "kernels/kernel_state.h"
#include "kernels/load_module.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace::detail {
namespace {

struct Loaded {
  const DeviceState* device;
  std::shared_ptr<const Module> module;  ///< null: the device takes no image
};

struct AllLoaded {
  std::mutex mutex;  // guards `of`; a leaf
  std::vector<Loaded> of;
};
constinit NoDestructor<AllLoaded> all_loaded;

std::optional<std::shared_ptr<const Module>> loaded_on(const DeviceState& device) {
  const std::lock_guard lock(all_loaded.value.mutex);
  for (const Loaded& loaded : all_loaded.value.of) {
    if (loaded.device == &device) return loaded.module;
  }
  return std::nullopt;
}

bool takes_modules(DeviceState& device, const char* operation) {
  return has_capability(device, Capability::modules, operation);
}

std::shared_ptr<const Module> make_module(DeviceState& device, const char* operation) {
  if (!takes_modules(device, operation)) return nullptr;
  try {
    return std::make_shared<const Module>(Device(&device), anyplace_sum_kernels);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_image || error.code() == ErrorCode::unsupported) return nullptr;
    throw renamed(error, operation);
  }
}

/// Two threads may load at the same time; the module of one of them is kept.
std::shared_ptr<const Module> load_on(DeviceState& device, const char* operation) {
  std::shared_ptr<const Module> made = make_module(device, operation);
  std::shared_ptr<const Module> replaced;  // goes outside of the lock
  const std::lock_guard lock(all_loaded.value.mutex);
  for (Loaded& loaded : all_loaded.value.of) {
    if (loaded.device != &device) continue;
    if (loaded.module && modules().try_pin(loaded.module->id())) return loaded.module;
    replaced = std::exchange(loaded.module, made);  // its handle went with a reset of the device
    return made;
  }
  all_loaded.value.of.push_back({&device, made});
  return made;
}

const char* kernel_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
      return "add_f16";
    case DType::bf16:
      return "add_bf16";
    case DType::f32:
    case DType::c64:
      return "add_f32";
    case DType::f64:
    case DType::c128:
      return "add_f64";
    case DType::i8:
    case DType::u8:
      return "add_8";
    case DType::i16:
    case DType::u16:
      return "add_16";
    case DType::i32:
    case DType::u32:
      return "add_32";
    case DType::i64:
    case DType::u64:
      return "add_64";
    case DType::boolean:
      return "add_bool";
  }
  return "";
}

/// At exit: backends count what is left of theirs.
void end_modules() noexcept {
  std::vector<Loaded> all;
  {
    const std::lock_guard lock(all_loaded.value.mutex);
    all.swap(all_loaded.value.of);
  }
  if (all.empty()) return;
  for (const Loaded& loaded : all) {
    if (loaded.module) close_module(loaded.module->id());
  }
  release_all_unused();
}

}  // namespace

std::optional<KernelView> sum_kernel(DeviceState& device, DType dtype, const char* operation) {
  std::optional<std::shared_ptr<const Module>> known = loaded_on(device);
  const bool usable = known && (!*known || modules().try_pin((*known)->id()));
  const std::shared_ptr<const Module> module = usable ? *known : load_on(device, operation);
  if (!module) return std::nullopt;
  return module->kernel(kernel_of(dtype));
}

LaunchConfig sum_shape(DeviceState& device, std::uint64_t bytes, const char* operation) {
  const anyplace_device_properties& properties = properties_of(device, operation);
  const std::uint64_t most_blocks = std::max<std::uint64_t>(properties.max_grid[0], 1);
  if (has_capability(device, Capability::host_kernels, operation)) {
    // A block of one thread goes over a range by itself.
    constexpr std::uint64_t bytes_of_a_block = 512 << 10;
    const std::uint64_t blocks = bytes / bytes_of_a_block + 1;
    return {static_cast<std::uint32_t>(std::min(blocks, most_blocks)), 1};
  }
  constexpr std::uint64_t bytes_of_a_thread = 16;
  const std::uint64_t threads = std::clamp<std::uint64_t>(properties.max_threads_per_block, 1, 256);
  const std::uint64_t units = properties.compute_units == 0 ? 128 : properties.compute_units;
  const std::uint64_t blocks = bytes / (bytes_of_a_thread * threads) + 1;
  const std::uint64_t enough = std::min(units * 32, most_blocks);
  return {static_cast<std::uint32_t>(std::min(blocks, enough)), static_cast<std::uint32_t>(threads)};
}

constinit const Subsystem comm_subsystem{.end_unused = end_modules};

}  // namespace anyplace::detail
