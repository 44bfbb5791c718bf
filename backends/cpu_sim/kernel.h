// SPDX-License-Identifier: Apache-2.0
//
// Kernels: functions that run once per block. Where a function comes from (this process, or a module's library) is
// decided when the kernel is made; from then on all kernels are the same.
//
// Destroying a kernel, or unloading its module, while it is queued or running is safe (Engine::retire); what the kernel
// holds (the release function's user, the library) goes when nothing needs it any more.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_KERNEL_H
#define ANYPLACE_BACKENDS_CPU_SIM_KERNEL_H

#include <anyplace/backend/device_backend.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "library.h"
#include "ref.h"
#include "spread.h"
#include "stream.h"

namespace anyplace::cpu_sim {

inline constexpr uint32_t kMaxGrid[3] = {2147483647, 65535, 65535};
inline constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint64_t kMaxSharedBytes = 228 << 10;

class Kernel final : public RefCounted<Kernel> {
 public:
  /// A function of this process. `on_release(user)` is called once, when the last reference is gone; it may be null.
  Kernel(backend::Host host, anyplace_host_kernel function, void* user, void (*on_release)(void*));
  /// A function of a library, which it keeps loaded. `parameters` are the sizes of what it takes, if the library says.
  Kernel(backend::Host host, anyplace_host_kernel function, std::string name, Ref<Library> library,
         std::optional<std::vector<uint32_t>> parameters);

  /// Throws Failure(INVALID_ARGUMENT) if these are known not to be what the kernel takes.
  void check_arguments(const anyplace_launch& launch) const;

  /// One bit of 64, which a stream remembers (Stream::let_go).
  uint64_t mark() const noexcept { return mark_; }

  /// Throws Failure(INVALID_ARGUMENT) if argument `i` is an address that the kernel couldn't follow on a device.
  void check_reach(Device& device, anyplace_address address, uint32_t i) const {
    // A function of this process, which runs nowhere else, may be given the host's own memory.
    if (!device.addresses().reaches_at_once(device.index(), address, !library_)) [[unlikely]]
      require_reach(device, address, i);
  }

  /// Whether a launch without arguments is what the kernel takes, as far as is known.
  bool takes_nothing() const noexcept { return !parameters_ || parameters_->empty(); }

  /// Runs a launch over one block of the size `packed` (pack()), without arguments.
  void run_one(uint32_t packed, uint64_t cookie) noexcept;

  /// Runs one block. If it fails it sets `stop`; who sets it first, so one block of a launch, reports the fault of the
  /// stream that `cookie` names, on its own thread, where the kernel may have left a message.
  void run_block(const anyplace_block& block, void* const* arguments, const uint32_t* sizes, uint32_t count,
                 uint64_t cookie, std::atomic<bool>& stop) noexcept;

  /// Around each run of blocks on a thread: keeps the library's code from calling back into anyplace.
  void enter() const noexcept {
    if (library_) host_.user_code_begin();
  }
  void leave() const noexcept {
    if (library_) host_.user_code_end();
  }
  const backend::Host& host() const noexcept { return host_; }

 private:
  friend class RefCounted<Kernel>;
  ~Kernel();
  void require_reach(Device& device, anyplace_address address, uint32_t i) const;
  void report(const anyplace_block& block, uint64_t cookie, anyplace_status status, const char* what,
              std::atomic<bool>& stop) const noexcept;

  const backend::Host host_;
  const uint64_t mark_;
  const anyplace_host_kernel function_;
  void* const user_ = nullptr;
  void (*const release_)(void*) = nullptr;
  const std::string name_;
  const Ref<Library> library_;  // null for a function of this process
  const std::optional<std::vector<uint32_t>> parameters_;
};

/// A block's size in 26 bits.
constexpr uint32_t pack(const uint32_t (&block)[3]) noexcept {
  return (block[0] - 1) | (block[1] - 1) << 10 | (block[2] - 1) << 20;
}

/// One launch, but for the simplest (Stream::submit_launch). Behind it in the queue lie its arguments: pointers, sizes
/// and copies of the values.
class Launch final : public Spreadable {
 public:
  Launch(Kernel& kernel, uint64_t cookie, const anyplace_launch& launch) noexcept;

  Extent extent() const noexcept override;
  void run_units(uint64_t begin, uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  friend void submit_launch(Stream&, Kernel&, uint64_t, const anyplace_launch&);

  Kernel& kernel_;  // see Stream::let_go
  uint64_t cookie_;
  void* const* arguments_ = nullptr;
  const uint32_t* sizes_ = nullptr;
  uint32_t grid_[3];
  uint32_t block_[3];
  uint32_t argument_count_;
  uint32_t shared_bytes_;
};

/// Whether it is a launch that Stream::submit_launch() takes: within the limits, of one block, without arguments or
/// shared memory.
inline bool is_simple(const Kernel& kernel, const anyplace_launch& launch) noexcept {
  const uint32_t(&grid)[3] = launch.grid;
  const uint32_t(&block)[3] = launch.block;
  const bool one = ((grid[0] ^ 1) | (grid[1] ^ 1) | (grid[2] ^ 1) | launch.argument_count) == 0;
  // Each is within 32 bits; a 0 becomes a large number.
  const bool small = (block[0] - 1) < kMaxBlock[0] && (block[1] - 1) < kMaxBlock[1] && (block[2] - 1) < kMaxBlock[2] &&
                     block[0] * block[1] * block[2] <= kMaxThreadsPerBlock;
  return one && small && launch.shared_bytes == 0 && kernel.takes_nothing();
}

/// Any launch. Throws Failure(INVALID_ARGUMENT) for one over the limits or with impossible arguments; nothing is
/// submitted.
void submit_launch(Stream& stream, Kernel& kernel, uint64_t cookie, const anyplace_launch& launch);

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_KERNEL_H
