// SPDX-License-Identifier: Apache-2.0
//
// Kernel: a ze_kernel, and what has to be known of it to refuse a wrong launch before anything runs. Its arguments and
// group size are set on the kernel itself, and Level Zero forbids that two threads do so at a time, hence the mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::levelzero {

class Device;
class Stream;

class Kernel {
 public:
  /// `shared_argument`: index of the argument that is the dynamic shared memory; -1: there is none. Throws
  /// NO_SUCH_KERNEL.
  Kernel(Device& device, ze_module_handle_t module, const char* name, int shared_argument);
  Kernel(const Kernel&) = delete;  // it owns the ze_kernel
  Kernel& operator=(const Kernel&) = delete;

  /// Throws INVALID_ARGUMENT for what doesn't fit the kernel.
  void launch(Stream& stream, const anyplace_launch& launch);
  /// Nothing needs it any more.
  ze_result_t end() noexcept { return api().KernelDestroy(native_); }

 private:
  void read_properties();
  void require_arguments(const anyplace_launch& launch) const;
  void require_block(const anyplace_launch& launch) const;
  void require_shared(const anyplace_launch& launch) const;
  void set_arguments(const anyplace_launch& launch);

  Device& device_;
  const std::string name_;
  const int shared_argument_;
  ze_kernel_properties_t properties_{};
  std::mutex mutex_;  // guards native_'s arguments and group size from setting to appending; taken before the stream's
  ze_kernel_handle_t native_ = nullptr;
};

}  // namespace anyplace::levelzero
