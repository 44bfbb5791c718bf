// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a ze_kernel, and its properties by which a wrong launch is refused before anything runs. Arguments and group
// size are set on the ze_kernel itself. Level Zero forbids that two threads do that at the same time, hence the mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::levelzero {

class DeviceBase;
class Stream;

class Kernel {
 public:
  /// `shared_argument` is the index of the argument for the dynamic shared memory, -1 if there is none. Throws
  /// NO_SUCH_KERNEL.
  Kernel(DeviceBase& device, ze_module_handle_t module, const char* name, int shared_argument);
  Kernel(const Kernel&) = delete;  // it owns the ze_kernel
  Kernel& operator=(const Kernel&) = delete;

  /// Throws INVALID_ARGUMENT if the launch doesn't fit the kernel.
  void launch(Stream& stream, const anyplace_launch& launch);
  /// Lets the caller append the launch to a list of its own: append(groups) is called while the kernel has the launch's
  /// arguments.
  template <class Append>
  void with_arguments(const anyplace_launch& launch, Append&& append) {
    require_fits(launch);
    const std::lock_guard lock(mutex_);
    prepare(launch);
    append(ze_group_count_t{launch.grid[0], launch.grid[1], launch.grid[2]});
  }
  ze_kernel_handle_t native() const noexcept { return native_; }
  void attributes(anyplace_kernel_attributes& out) const;
  /// Destroys the ze_kernel. Called when nothing needs it any more.
  ze_result_t end() noexcept { return api().KernelDestroy(native_); }

 private:
  void read_properties();
  /// Throws INVALID_ARGUMENT if the launch doesn't fit the kernel.
  void require_fits(const anyplace_launch& launch) const;
  /// The mutex is held.
  void prepare(const anyplace_launch& launch);
  void require_arguments(const anyplace_launch& launch) const;
  void require_block(const anyplace_launch& launch) const;
  void require_shared(const anyplace_launch& launch) const;
  void set_arguments(const anyplace_launch& launch);

  DeviceBase& device_;
  const std::string name_;
  const int shared_argument_;
  ze_kernel_properties_t properties_{};
  std::mutex mutex_;  // guards native_'s arguments and group size from setting to appending; taken before the stream's
  ze_kernel_handle_t native_ = nullptr;
};

}  // namespace anyplace::levelzero
