// SPDX-License-Identifier: Apache-2.0
//
// A kernel is a function that runs once per block. The function comes from this process or from a module's library;
// after the kernel was made, the two kinds are treated alike.
//
// Destroying a kernel, or unloading its module, while it is queued or running is safe (Engine::retire). What the kernel
// owns (the release function's user, the library) is released when no launch needs it any more.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device.h"
#include "library.h"
#include "protection.h"
#include "ref.h"
#include "spread.h"
#include "stream.h"

namespace anyplace::cpu_sim {

inline constexpr std::uint32_t max_grid[3] = {2147483647, 65535, 65535};
inline constexpr std::uint32_t max_block[3] = {1024, 1024, 64};
inline constexpr std::uint32_t max_threads_per_block = 1024;
inline constexpr std::uint64_t max_shared_bytes = 228 << 10;

/// What an image may have beside a kernel NAME, as _row_of_NAME (docs/cpu_sim.md): it runs `block`, and those behind it
/// in its row of the grid, `*blocks` in all and at most 65536, as one. If it can't, it sets `*blocks` to 1 before the
/// kernel's code runs, and runs `block` alone.
using HostRow = anyplace_status (*)(void* user, const anyplace_block* block, std::uint32_t* blocks,
                                    void* const* arguments, const std::uint32_t* sizes, std::uint32_t argument_count);

class Kernel final : public RefCounted<Kernel> {
 public:
  /// Makes a kernel from a function of this process. `on_release(user)` is called once, after the last reference is
  /// gone; on_release may be null.
  Kernel(backend::Host host, anyplace_host_kernel function, void* user, void (*on_release)(void*));
  /// Makes a kernel from a function of a library, which it keeps loaded. `row` is null if the library has none for it.
  /// `parameters` are the sizes of its parameters, if the library tells them.
  Kernel(backend::Host host, anyplace_host_kernel function, HostRow row, std::string name, Ref<Library> library,
         std::optional<std::vector<std::uint32_t>> parameters);

  /// Throws Failure(INVALID_ARGUMENT) if the launch's arguments are known not to fit the kernel's parameters.
  void check_arguments(const anyplace_launch& launch) const;

  /// Returns the function's address.
  std::uint64_t native() const noexcept { return reinterpret_cast<std::uintptr_t>(function_); }

  /// Returns one bit of 64. Streams keep the marks of the kernels that were launched in them
  /// (Stream::keep_while_queued).
  std::uint64_t mark() const noexcept { return mark_; }

  /// Returns whether it is known that the kernel can follow the address on the device.
  bool reaches_at_once(Device& device, anyplace_address address) const noexcept {
    // A function of this process could never run on a real device, so it may be given the host's own memory.
    return device.addresses().reaches_at_once(device.index(), address, !library_);
  }
  /// Throws Failure(INVALID_ARGUMENT) if argument `i` is an address that the kernel couldn't follow on a device.
  void check_reach(Device& device, anyplace_address address, std::uint32_t i) const {
    if (!reaches_at_once(device, address)) [[unlikely]]
      require_reach(device, address, i);
  }

  /// Returns whether the kernel takes arguments of these sizes, as far as is known.
  bool takes(const PackedArguments& arguments) const noexcept {
    return !parameters_ ||
           std::equal(parameters_->begin(), parameters_->end(), arguments.sizes, arguments.sizes + arguments.count);
  }

  /// Runs a launch of one block (one_block()), which it leaves as it was. `arguments` is null for a launch without
  /// arguments.
  void run_one_block(anyplace_block& block, PackedArguments* arguments, std::uint64_t cookie) noexcept;

  /// Runs `blocks` blocks one after the other, from `block` on, until one sets `stop`. `block` is moved to each of
  /// them, or to the first of those that the kernel runs as one. A block that fails sets it. The one that sets it first
  /// reports the fault for `cookie`, on its own thread, because the kernel may have left a message there.
  void run_blocks(anyplace_block& block, std::uint64_t blocks, void* const* arguments, const std::uint32_t* sizes,
                  std::uint32_t count, std::uint64_t cookie, std::atomic<bool>& stop) noexcept;

  const backend::Host& host() const noexcept { return host_; }
  const std::string& name() const noexcept { return name_; }

 private:
  friend class RefCounted<Kernel>;
  ~Kernel();
  void begin_scope() const noexcept;
  void end_scope() const noexcept;
  void require_reach(Device& device, anyplace_address address, std::uint32_t i) const;
  void report(const anyplace_block& block, std::uint64_t cookie, anyplace_status status, const char* what,
              std::atomic<bool>& stop) const noexcept;
  void report_status(const anyplace_block& block, std::uint64_t cookie, anyplace_status status,
                     std::atomic<bool>& stop) const noexcept;

  const backend::Host host_;
  const std::uint64_t mark_;
  const anyplace_host_kernel function_;
  const HostRow row_ = nullptr;
  void* const user_ = nullptr;
  void (*const release_)(void*) = nullptr;
  const std::string name_;
  const Ref<Library> library_;  // It is null for a function of this process.
  // Memory is protected (protection.h). Kernels are made after that was decided.
  const bool guarded_ = Protection::get() != nullptr;
  const bool scoped_;  // It says whether begin_scope() and end_scope() do something.
  const std::optional<std::vector<std::uint32_t>> parameters_;
};

/// Packs a block's size into 26 bits.
constexpr std::uint32_t pack(const std::uint32_t (&block)[3]) noexcept {
  return (block[0] - 1) | (block[1] - 1) << 10 | (block[2] - 1) << 20;
}

/// Returns the only block of a launch, of the size `packed` (pack()).
inline anyplace_block one_block(std::uint32_t packed) noexcept {
  anyplace_block block{};
  block.struct_size = sizeof(block);
  block.grid[0] = block.grid[1] = block.grid[2] = 1;
  block.block[0] = (packed & 0x3ff) + 1;
  block.block[1] = (packed >> 10 & 0x3ff) + 1;
  block.block[2] = (packed >> 20) + 1;
  return block;
}
/// Returns how many threads it has.
inline std::uint64_t threads_of(std::uint32_t packed) noexcept {
  const anyplace_block block = one_block(packed);
  return std::uint64_t{block.block[0]} * block.block[1] * block.block[2];
}

/// A Launch may have any grid. Behind it in the queue lie its arguments: pointers, sizes and copies of the values. A
/// launch of one block is an entry of the queue instead where that is possible (submit_one_block).
class Launch final : public Spreadable {
 public:
  Launch(Kernel& kernel, std::uint64_t cookie, const anyplace_launch& launch) noexcept;

  /// Copies the arguments of a launch that check_launch() took to memory of the size that it returned, which stays with
  /// this command.
  void take_arguments(const anyplace_launch& launch, void* memory) noexcept;
  /// Sets whose faults it reports from now on: a launch in a graph is run for one stream after the other.
  void set_cookie(std::uint64_t cookie) noexcept { cookie_ = cookie; }

  Extent extent() const noexcept override;
  void describe(Operation& out) const override;
  void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  Kernel& kernel_;  // Stream::keep_while_queued keeps it alive.
  std::uint64_t cookie_;
  void* const* arguments_ = nullptr;
  const std::uint32_t* sizes_ = nullptr;
  std::uint32_t grid_[3];
  std::uint32_t block_[3];
  std::uint32_t argument_count_;
  std::uint32_t shared_bytes_;
};

/// Returns whether the block's size is within the limits.
inline bool is_block(const std::uint32_t (&block)[3]) noexcept {
  // A size of 0 wraps to a large number. The product is below 2^26 if the others hold.
  return (block[0] - 1) < max_block[0] && (block[1] - 1) < max_block[1] && (block[2] - 1) < max_block[2] &&
         block[0] * block[1] * block[2] <= max_threads_per_block;
}

/// Returns whether the launch is of one block, within the limits and without shared memory.
inline bool is_one_block(const anyplace_launch& launch) noexcept {
  const std::uint32_t(&grid)[3] = launch.grid;
  const bool one = ((grid[0] ^ 1) | (grid[1] ^ 1) | (grid[2] ^ 1)) == 0;
  return one && is_block(launch.block) && launch.shared_bytes == 0;
}

/// Submits a launch that is_one_block() and has at most PackedArguments::most arguments, of 4 or 8 bytes, which are
/// known to be right. Returns false, and submits nothing, if the launch is another one: submit_launch() then finds out
/// whether it is valid. Throws if there is no memory or no thread.
bool submit_one_block(Stream& stream, Kernel& kernel, const anyplace_launch& launch);

/// Returns the bytes that the launch's arguments take. Throws Failure(INVALID_ARGUMENT) if it is over the limits or has
/// invalid arguments.
std::uint64_t check_launch(const Kernel& kernel, Device& device, const anyplace_launch& launch);

/// Submits any launch. Throws Failure(INVALID_ARGUMENT) if it is over the limits or has invalid arguments; then nothing
/// is submitted.
void submit_launch(Stream& stream, Kernel& kernel, std::uint64_t cookie, const anyplace_launch& launch);

}  // namespace anyplace::cpu_sim
