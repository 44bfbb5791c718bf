// SPDX-License-Identifier: Apache-2.0
//
// Kernel, KernelView and the launch. A launch on a stream that isn't held takes no lock, allocates nothing and builds
// no string: its checks compare numbers with what the kernel's state holds.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/kernel.h"
#include "anyplace/stream.h"
#include "everlasting.h"
#include "kernel_state.h"
#include "service.h"
#include "stream_state.h"

namespace anyplace {

namespace detail {

SlotTable<KernelState>& kernels() noexcept {
  static constinit Everlasting<SlotTable<KernelState>> table("kernel");
  return table.value;
}

void KernelState::dispose(KernelState* kernel) noexcept {
  if (in_callback()) {
    post_to_service([kernel] { dispose(kernel); });
    return;
  }
  const std::unique_ptr<KernelState> owner(kernel);
  if (owner->module || !backends_callable()) return;  // a module's kernel ends with its module
  DeviceState& device = *owner->device;
  const anyplace_status status = device.table->kernel_destroy(device.self, owner->handle);
  if (!device.lost.load(std::memory_order_relaxed)) check_quietly(status, device, "~Kernel");
}

void set_limits(KernelState& kernel, const char* operation) {
  const anyplace_device_properties& properties = properties_of(*kernel.device, operation);
  std::memcpy(kernel.max_grid, properties.max_grid, sizeof(kernel.max_grid));
  std::memcpy(kernel.max_block, properties.max_block, sizeof(kernel.max_block));
  kernel.max_threads_per_block = properties.max_threads_per_block;
  kernel.max_shared_bytes = properties.max_shared_bytes;
}

namespace {

constexpr std::size_t max_arguments = 1024;

// -- Callables.

/// What the backend holds for a callable, until nothing that is queued needs it any more.
struct Callable {
  HostKernel kernel;
};

anyplace_status run_block(void* user, const anyplace_block* block, void* const* arguments,
                          const std::uint32_t* /*sizes*/, std::uint32_t count) noexcept {
  const CallbackScope scope;
  const HostKernel& kernel = static_cast<Callable*>(user)->kernel;
  if (count != kernel.argument_sizes.size()) {
    leave_message(0, nullptr, "the backend called a kernel with another number of arguments than it was launched with");
    return ANYPLACE_STATUS_INTERNAL;
  }
  try {
    kernel.run(Block(*block), arguments);
    return ANYPLACE_STATUS_OK;
  } catch (const std::exception& exception) {
    leave_message(0, nullptr, exception.what());
  } catch (...) {
    leave_message(0, nullptr, "the kernel threw something that is no std::exception");
  }
  return ANYPLACE_STATUS_KERNEL_FAILED;
}

/// The callable may own handles. It is let go of inside the backend, so their destruction is left to the service
/// thread.
void release_callable(void* user) noexcept {
  const CallbackScope scope;
  delete static_cast<Callable*>(user);
}

std::uint64_t make_kernel(DeviceState& device, HostKernel kernel, const char* operation) {
  require_usable(device, operation);
  require_capability(device, Capability::host_kernels, operation);
  if (!kernel.run) fail(ErrorCode::invalid_argument, device.place, operation, "the callable is empty");
  if (kernel.argument_sizes.size() > max_arguments) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the callable has {} parameters; the limit is {}", kernel.argument_sizes.size(), max_arguments));
  }
  auto state = std::make_unique<KernelState>();
  state->device = &device;
  state->argument_sizes = kernel.argument_sizes;
  set_limits(*state, operation);
  auto callable = std::make_unique<Callable>(Callable{std::move(kernel)});
  const std::uint64_t id = kernels().reserve(operation);
  const anyplace_status status = device.table->kernel_from_host(device.self, device.index, &run_block, callable.get(),
                                                                &release_callable, &state->handle);
  if (status != ANYPLACE_STATUS_OK) {
    kernels().cancel(id);
    raise(status, device, operation);
  }
  static_cast<void>(callable.release());
  kernels().publish(id, state.release());
  return id;
}

void close_kernel(std::uint64_t id) noexcept {
  if (id != 0 && process_running()) kernels().close(id);
}

// -- Launches.

bool within(const std::uint32_t (&size)[3], const std::uint32_t (&limit)[3]) {
  return size[0] - 1 < limit[0] && size[1] - 1 < limit[1] && size[2] - 1 < limit[2];
}

/// Each factor is within 32 bits, and the product is compared before it can overflow.
bool threads_within(const std::uint32_t (&block)[3], std::uint32_t limit) {
  const std::uint64_t plane = std::uint64_t{block[0]} * block[1];
  return plane <= limit && plane * block[2] <= limit;
}

[[noreturn]] void refuse_size(const char* what, const std::uint32_t (&size)[3], const std::uint32_t (&limit)[3],
                              const KernelState& kernel, const char* operation) {
  fail(ErrorCode::invalid_argument, kernel.device->place, operation,
       fmt::format("the {} is {} x {} x {}; each is at least 1, and this device's limits are {} x {} x {}", what,
                   size[0], size[1], size[2], limit[0], limit[1], limit[2]));
}

void require_sizes(const KernelState& kernel, const anyplace_launch& launch, const char* operation) {
  if (!within(launch.grid, kernel.max_grid)) [[unlikely]] {
    refuse_size("grid", launch.grid, kernel.max_grid, kernel, operation);
  }
  if (!within(launch.block, kernel.max_block)) [[unlikely]] {
    refuse_size("block", launch.block, kernel.max_block, kernel, operation);
  }
  if (!threads_within(launch.block, kernel.max_threads_per_block)) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("a block of {} x {} x {} threads; this device's limit is {} threads", launch.block[0],
                     launch.block[1], launch.block[2], kernel.max_threads_per_block));
  }
  if (launch.shared_bytes > kernel.max_shared_bytes) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("{} bytes of shared memory for each block; this device's limit is {} bytes", launch.shared_bytes,
                     kernel.max_shared_bytes));
  }
}

[[noreturn]] void refuse_argument(std::size_t index, const std::string& why, const KernelState& kernel,
                                  const char* operation) {
  fail(ErrorCode::invalid_argument, kernel.device->place, operation,
       fmt::format("argument {} (counted from 0) {}", index, why));
}

void require_arguments(const KernelState& kernel, std::span<const anyplace_argument> arguments, const char* operation) {
  if (arguments.size() > max_arguments) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("{} arguments; the limit is {}", arguments.size(), max_arguments));
  }
  const bool callable = !kernel.module;
  if (callable && arguments.size() != kernel.argument_sizes.size()) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("{} arguments were given; the kernel's callable takes {}", arguments.size(),
                     kernel.argument_sizes.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const anyplace_argument& argument = arguments[i];
    const bool address = argument.kind == ANYPLACE_ARGUMENT_ADDRESS;
    if (!address && argument.kind != ANYPLACE_ARGUMENT_VALUE) [[unlikely]] {
      refuse_argument(i, fmt::format("is of kind {}; kinds are ANYPLACE_ARGUMENT_*", argument.kind), kernel, operation);
    }
    if (argument.value == nullptr || argument.size == 0) [[unlikely]] {
      refuse_argument(i, "has no value", kernel, operation);
    }
    if (address && argument.size != sizeof(anyplace_address)) [[unlikely]] {
      refuse_argument(i, fmt::format("is an address of {} bytes; addresses have 8", argument.size), kernel, operation);
    }
    if (callable && argument.size != kernel.argument_sizes[i]) [[unlikely]] {
      refuse_argument(
          i, fmt::format("has {} bytes; the callable's parameter has {}", argument.size, kernel.argument_sizes[i]),
          kernel, operation);
    }
  }
}

/// A launch with copies of its argument values, for a held stream.
struct KeptLaunch {
  Pin<KernelState> kernel;  ///< its owner may destroy it meanwhile
  std::vector<std::unique_ptr<std::byte[]>> values;
  std::vector<anyplace_argument> arguments;
  anyplace_launch launch{};
};

HeldCommand keep_launch(const StreamState& stream, Pin<KernelState> kernel, const anyplace_launch& launch,
                        std::span<const anyplace_argument> arguments) {
  auto kept = std::make_shared<KeptLaunch>();
  kept->kernel = std::move(kernel);
  kept->launch = launch;
  for (const anyplace_argument& argument : arguments) {
    kept->values.push_back(std::make_unique<std::byte[]>(argument.size));
    std::memcpy(kept->values.back().get(), argument.value, argument.size);
    kept->arguments.push_back({argument.kind, argument.size, kept->values.back().get()});
  }
  kept->launch.arguments = kept->arguments.data();
  return [table = stream.device->table, self = stream.device->self, handle = stream.handle, kept] {
    return table->kernel_launch(self, handle, kept->kernel->handle, &kept->launch);
  };
}

}  // namespace

}  // namespace detail

Device KernelView::device() const {
  constexpr const char* operation = "KernelView::device";
  detail::enter(operation);
  return Device(detail::kernels().pin(id_, operation)->device);
}

std::string KernelView::name() const {
  constexpr const char* operation = "KernelView::name";
  detail::enter(operation);
  return detail::kernels().pin(id_, operation)->name;
}

Kernel::Kernel(const Device& device, detail::HostKernel kernel) {
  constexpr const char* operation = "Kernel";
  detail::enter(operation);
  id_ = detail::make_kernel(*device.state(), std::move(kernel), operation);
}

Kernel::Kernel(Kernel&& other) noexcept : KernelView(std::exchange(other.id_, 0)) {}

Kernel& Kernel::operator=(Kernel&& other) noexcept {
  if (this != &other) {
    detail::close_kernel(id_);
    id_ = std::exchange(other.id_, 0);
  }
  return *this;
}

Kernel::~Kernel() { detail::close_kernel(id_); }

void StreamView::launch_arguments(KernelView kernel_view, Dim3 grid, Dim3 block, std::uint64_t shared_bytes,
                                  std::span<const anyplace_argument> arguments) const {
  constexpr const char* operation = "Stream::launch";
  detail::enter(operation);
  const detail::Pin<detail::StreamState> stream = detail::streams().pin(id_, operation);
  detail::DeviceState& device = *stream->device;
  detail::require_usable(device, operation);
  detail::Pin<detail::KernelState> kernel = detail::kernels().pin(kernel_view.id(), operation);
  if (kernel->device != &device) [[unlikely]] {
    detail::fail(ErrorCode::invalid_argument, device.place, operation,
                 fmt::format("the kernel is of {}, and the stream is of {}; load it for each device",
                             kernel->device->place, device.place));
  }
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  launch.grid[0] = grid.x, launch.grid[1] = grid.y, launch.grid[2] = grid.z;
  launch.block[0] = block.x, launch.block[1] = block.y, launch.block[2] = block.z;
  launch.shared_bytes = shared_bytes;
  detail::require_sizes(*kernel, launch, operation);
  detail::require_arguments(*kernel, arguments, operation);
  launch.argument_count = static_cast<std::uint32_t>(arguments.size());
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = arguments.data();
  const auto now = [&] { return device.table->kernel_launch(device.self, stream->handle, kernel->handle, &launch); };
  const auto later = [&] {
    detail::Pin<detail::KernelState> kept = detail::kernels().pin_again(kernel_view.id(), operation);
    return detail::keep_launch(*stream, std::move(kept), launch, arguments);
  };
  detail::submit(*stream, operation, now, later);
}

}  // namespace anyplace
