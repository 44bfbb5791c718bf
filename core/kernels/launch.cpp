// SPDX-License-Identifier: Apache-2.0
//
// Launching kernels. A launch takes no lock, allocates nothing and builds no string: fits() compares its sizes with the
// kernel's limits. require_launch() finds out what is wrong and throws it; divert_launch() hands launches of held and
// captured streams over.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/kernel.h"
#include "anyplace/stream.h"
#include "handles/use.h"
#include "kernels/description.h"
#include "kernels/drawing.h"
#include "kernels/kernel_state.h"
#include "runtime/layer_notes.h"
#include "runtime/room_behind.h"
#include "streams/capture.h"
#include "streams/stream_state.h"
#include "streams/work.h"

namespace anyplace {

namespace detail {
namespace {

bool within(const std::uint32_t (&size)[3], const std::uint32_t (&limit)[3]) noexcept {
  return size[0] - 1 < limit[0] && size[1] - 1 < limit[1] && size[2] - 1 < limit[2];
}

/// Whether a block has at most `limit` threads. Each factor has 32 bits, and the first product is compared before the
/// second could overflow.
bool threads_within(const std::uint32_t (&block)[3], std::uint32_t limit) noexcept {
  const std::uint64_t plane = std::uint64_t{block[0]} * block[1];
  return plane <= limit && plane * block[2] <= limit;
}

[[noreturn]] void refuse_size(const char* what, const std::uint32_t (&size)[3], const std::uint32_t (&limit)[3],
                              const KernelState& kernel, const char* operation) {
  fail(ErrorCode::invalid_argument, kernel.device->place, operation,
       fmt::format("the {} is {} x {} x {}\neach is at least 1, and this device's limits are {} x {} x {}", what,
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
         fmt::format("a block of {} x {} x {} threads is too large\nthis device's limit is {} threads", launch.block[0],
                     launch.block[1], launch.block[2], kernel.max_threads_per_block));
  }
  if (launch.shared_bytes > kernel.max_shared_bytes) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("{} bytes of shared memory for each block are too many\nthis device's limit is {} bytes",
                     launch.shared_bytes, kernel.max_shared_bytes));
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
         fmt::format("{} arguments are too many\nthe limit is {}", arguments.size(), max_arguments));
  }
  const bool callable = !kernel.module;
  if (callable && arguments.size() != kernel.argument_sizes.size()) [[unlikely]] {
    fail(ErrorCode::invalid_argument, kernel.device->place, operation,
         fmt::format("{} arguments were given\nthe kernel's callable takes {}", arguments.size(),
                     kernel.argument_sizes.size()));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const anyplace_argument& argument = arguments[i];
    const bool address = argument.kind == ANYPLACE_ARGUMENT_ADDRESS;
    if (!address && argument.kind != ANYPLACE_ARGUMENT_VALUE) [[unlikely]] {
      refuse_argument(i, fmt::format("is of kind {}\nkinds are those of LaunchArgument::Kind", argument.kind), kernel,
                      operation);
    }
    if (argument.value == nullptr || argument.size == 0) [[unlikely]] {
      refuse_argument(i, "has no value", kernel, operation);
    }
    if (address && argument.size != sizeof(anyplace_address)) [[unlikely]] {
      refuse_argument(i, fmt::format("is an address of {} bytes\naddresses have 8", argument.size), kernel, operation);
    }
    if (callable && argument.size != kernel.argument_sizes[i]) [[unlikely]] {
      refuse_argument(
          i, fmt::format("has {} bytes\nthe callable's parameter has {}", argument.size, kernel.argument_sizes[i]),
          kernel, operation);
    }
  }
}

// ---- Launches that are kept ----------------------------------------------------------------------------------------
// Behind a kept launch lie copies of its arguments, and behind those the copies of their values.

constexpr std::size_t large_value = sizeof(std::uint64_t);  ///< larger ones may have to be aligned for any type
constexpr std::size_t largest_alignment = alignof(std::max_align_t);

/// The first place for a value at or behind `bytes`.
std::size_t place_of_value(std::size_t bytes, std::size_t size) noexcept {
  const std::size_t alignment = size > large_value ? largest_alignment : large_value;
  return (bytes + alignment - 1) & ~(alignment - 1);
}

std::size_t room_behind(std::span<const anyplace_argument> arguments) noexcept {
  std::size_t bytes = arguments.size_bytes();
  for (const anyplace_argument& argument : arguments) bytes = place_of_value(bytes, argument.size) + argument.size;
  return bytes;
}

/// Copies the arguments and their values to `behind`, which is aligned for any type.
void copy_arguments(anyplace_launch& launch, std::byte* behind, std::span<const anyplace_argument> from) noexcept {
  auto* argument = reinterpret_cast<anyplace_argument*>(behind);
  launch.arguments = argument;
  std::size_t place = from.size_bytes();
  for (const anyplace_argument& given : from) {
    place = place_of_value(place, given.size);
    std::byte* const value = behind + place;
    if (given.size == sizeof(std::uint64_t)) {
      std::memcpy(value, given.value, sizeof(std::uint64_t));
    } else if (given.size == sizeof(std::uint32_t)) {
      std::memcpy(value, given.value, sizeof(std::uint32_t));
    } else {
      std::memcpy(value, given.value, given.size);
    }
    *argument++ = {given.kind, given.size, value};
    place += given.size;
  }
}

/// The launch of a held stream, in an allocation of its own.
struct KeptLaunch {
  Pin<KernelState> kernel;  ///< pinned, because its owner may destroy it meanwhile
  alignas(std::max_align_t) anyplace_launch launch;

  KeptLaunch(Pin<KernelState> pinned, const anyplace_launch& of) noexcept : kernel(std::move(pinned)), launch(of) {}
};

LaunchWork keep_launch(Pin<KernelState> kernel, const anyplace_launch& launch,
                       std::span<const anyplace_argument> arguments) {
  const WithRoomBehind<KeptLaunch> allocator(room_behind(arguments));
  std::shared_ptr<KeptLaunch> kept = std::allocate_shared<KeptLaunch>(allocator, std::move(kernel), launch);
  copy_arguments(kept->launch, reinterpret_cast<std::byte*>(kept.get() + 1), arguments);
  if (layers_listen()) note_launch_kept(kept->launch);
  LaunchWork work;
  work.kernel = kept->kernel->handle;
  work.name = &kept->kernel->name;
  const anyplace_launch* const copy = &kept->launch;
  work.launch = std::shared_ptr<const anyplace_launch>(std::move(kept), copy);
  return work;
}

/// The launch of a captured stream, in a piece of the nodes' room, where the kernel is pinned once for many launches.
struct CapturedLaunch {
  const KernelState& kernel;
  std::uint64_t kernel_id;
  const anyplace_launch& launch;
  std::span<const anyplace_argument> arguments;
  const char* operation;

  static Work make(NodeList& list, void* context) {
    const CapturedLaunch& given = *static_cast<const CapturedLaunch*>(context);
    constexpr std::size_t head =
        (sizeof(anyplace_launch) + largest_alignment - 1) / largest_alignment * largest_alignment;
    std::byte* const piece = list.room.take(head + room_behind(given.arguments));
    const std::shared_ptr<NodeChunk>& chunk = list.room.chunk();
    if (!chunk->keeps(given.kernel_id)) {
      auto pin = kernels().pin_again(given.kernel_id, given.operation);
      chunk->kept.emplace_back(given.kernel_id, std::make_shared<const Pin<KernelState>>(std::move(pin)));
    }
    auto* const copy = new (piece) anyplace_launch(given.launch);
    copy_arguments(*copy, piece + head, given.arguments);
    if (layers_listen()) note_launch_kept(*copy);
    LaunchWork work;
    work.kernel = given.kernel.handle;
    work.name = &given.kernel.name;
    work.launch = std::shared_ptr<const anyplace_launch>(chunk, copy);
    return work;
  }
};

std::span<const anyplace_argument> arguments_of(const anyplace_launch& launch) noexcept {
  return {launch.arguments, launch.argument_count};
}

constexpr const char* operation = "Stream::launch";

// ---- Checks --------------------------------------------------------------------------------------------------------

/// Whether a callable takes as many arguments of these sizes. The typed launch() described them, so nothing else can be
/// wrong with them.
bool arguments_fit(const KernelState& kernel, const anyplace_launch& launch) noexcept {
  if (kernel.module) return launch.argument_count <= max_arguments;
  const std::size_t count = kernel.argument_sizes.size();
  if (launch.argument_count != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (launch.arguments[i].size != kernel.argument_sizes[i]) return false;
  }
  return true;
}

/// Whether the launch is right. If it isn't, require_launch() says why.
bool fits(const KernelState& kernel, const anyplace_launch& launch) noexcept {
  return within(launch.grid, kernel.max_grid) && within(launch.block, kernel.max_block) &&
         threads_within(launch.block, kernel.max_threads_per_block) && launch.shared_bytes <= kernel.max_shared_bytes &&
         arguments_fit(kernel, launch);
}

[[noreturn]] void refuse_kernel(const KernelState& kernel, const StreamState& stream) {
  fail(ErrorCode::invalid_argument, stream.device->place, operation,
       fmt::format("the kernel is of {}, and the stream is of {}\nload it for each device", kernel.device->place,
                   stream.device->place));
}

/// Throws an Error that says what is wrong with the launch, if anything is.
void require_launch(const StreamState& stream, const KernelState& kernel, const anyplace_launch& launch) {
  if (kernel.device != stream.device) refuse_kernel(kernel, stream);
  require_usable(*stream.device, operation);
  require_sizes(kernel, launch, operation);
  require_arguments(kernel, arguments_of(launch), operation);
}

/// Throws an Error for a launch that doesn't fit.
[[noreturn, gnu::noinline, gnu::cold]] void refuse_launch(const StreamState& stream, const KernelState& kernel,
                                                          const anyplace_launch& launch) {
  require_launch(stream, kernel, launch);
  fail(ErrorCode::invalid_argument, stream.device->place, operation, "the launch doesn't fit the kernel");
}

/// Hands the launch over to the stream's capture or hold. False if the stream is neither captured nor held.
bool divert_launch(StreamState& stream, const KernelState& kernel, std::uint64_t kernel_id,
                   const anyplace_launch& launch) {
  if (!stream.is_diverted()) return false;
  CapturedLaunch captured{kernel, kernel_id, launch, arguments_of(launch), operation};
  if (capture_made(stream, CapturedLaunch::make, &captured, operation)) return true;
  Pin<KernelState> kept = kernels().pin_again(kernel_id, operation);
  divert(stream, keep_launch(std::move(kept), launch, arguments_of(launch)), operation);
  return true;
}

anyplace_status submit_launch(const StreamState& stream, const KernelState& kernel, const anyplace_launch& launch) {
  const DeviceState& device = *stream.device;
  return device.table->kernel_launch(device.self, stream.handle, kernel.handle, &launch);
}

/// The body of a launch. `guard` has the kernel and the stream (handles/use.h).
template <class Guard>
[[gnu::always_inline]] inline void launch_kernel(const Guard& guard, std::uint64_t kernel_id,
                                                 const anyplace_launch& launch) {
  KernelState& kernel = guard.first();
  StreamState& stream = guard.second();
  if constexpr (Guard::careful) {
    require_launch(stream, kernel, launch);
    if (divert_launch(stream, kernel, kernel_id, launch)) return;
  } else if (kernel.device != stream.device || !fits(kernel, launch)) [[unlikely]] {
    refuse_launch(stream, kernel, launch);
  }
  guard.check(submit_launch(stream, kernel, launch), operation);
}

}  // namespace

void launch_drawing(std::uint64_t stream_id, std::uint64_t kernel_id, const anyplace_launch& launch,
                    std::shared_ptr<const RandomDraw> draw, const char* called) {
  const Pin<StreamState> stream = streams().pin(stream_id, called);
  Pin<KernelState> kernel = kernels().pin(kernel_id, called);
  if (kernel->device != stream->device) refuse_kernel(*kernel, *stream);
  require_usable(*stream->device, called);
  require_sizes(*kernel, launch, called);
  require_arguments(*kernel, arguments_of(launch), called);
  if (!stream->is_diverted()) {
    return check(submit_launch(*stream, *kernel, launch), *stream, called);
  }
  LaunchWork work = keep_launch(std::move(kernel), launch, arguments_of(launch));
  work.draw = std::move(draw);
  divert(*stream, std::move(work), called);
}

}  // namespace detail

void StreamView::launch_on(std::uint64_t stream_id, std::uint64_t kernel_id,
                           const detail::LaunchDescription& description) {
  using namespace detail;
  const anyplace_launch& launch = boundary_launch(description);
  use<KernelState, StreamState>(operation, kernel_id, stream_id,
                                [kernel_id, &launch](const auto& guard) { launch_kernel(guard, kernel_id, launch); });
}

void StreamView::launch_arguments(KernelView kernel, const LaunchConfig& config,
                                  std::span<const LaunchArgument> arguments) const {
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  std::copy_n(std::array{config.grid.x, config.grid.y, config.grid.z}.data(), 3, launch.grid);
  std::copy_n(std::array{config.block.x, config.block.y, config.block.z}.data(), 3, launch.block);
  launch.shared_bytes = config.shared_bytes;
  // The number has 32 bits. A count beyond them is refused all the same, as any count that large.
  launch.argument_count = static_cast<std::uint32_t>(std::min<std::size_t>(arguments.size(), UINT32_MAX));
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = reinterpret_cast<const anyplace_argument*>(arguments.data());
  // The objects are pinned rather than taken on the fast path, so that the body checks each argument: the caller put
  // them together at run time.
  const std::uint64_t kernel_id = kernel.id();
  detail::use_pinned<detail::KernelState, detail::StreamState>(
      detail::operation, kernel_id, id_, [&](const auto& guard) { detail::launch_kernel(guard, kernel_id, launch); });
}

}  // namespace anyplace
