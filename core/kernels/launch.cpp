// SPDX-License-Identifier: Apache-2.0
//
// Launching kernels. A launch takes no lock, allocates nothing and builds no string: one quick comparison of its
// numbers with the kernel's limits finds most of them right. check_launch() looks at the others one by one, and throws
// what is wrong.
#include <fmt/format.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/// Each factor is within 32 bits, and the product is compared before it can overflow.
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
// Copies of the argument values lie behind the launch: the arguments, then their values.

constexpr std::size_t large_value = sizeof(std::uint64_t);  ///< larger ones may have to be aligned for any type
constexpr std::size_t largest_alignment = alignof(std::max_align_t);

/// Where a value may be, from `bytes` on.
std::size_t place_of_value(std::size_t bytes, std::size_t size) noexcept {
  const std::size_t alignment = size > large_value ? largest_alignment : large_value;
  return (bytes + alignment - 1) & ~(alignment - 1);
}

std::size_t room_behind(std::span<const anyplace_argument> arguments) noexcept {
  std::size_t bytes = arguments.size_bytes();
  for (const anyplace_argument& argument : arguments) bytes = place_of_value(bytes, argument.size) + argument.size;
  return bytes;
}

/// `behind` is aligned for any type.
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

/// Of a held stream: by itself.
struct KeptLaunch {
  Pin<KernelState> kernel;  ///< its owner may destroy it meanwhile
  alignas(std::max_align_t) anyplace_launch launch;

  KeptLaunch(Pin<KernelState> pinned, const anyplace_launch& of) noexcept : kernel(std::move(pinned)), launch(of) {}
};

LaunchWork keep_launch(Pin<KernelState> kernel, const anyplace_launch& launch,
                       std::span<const anyplace_argument> arguments) {
  const WithRoomBehind<KeptLaunch> allocator(room_behind(arguments));
  std::shared_ptr<KeptLaunch> kept = std::allocate_shared<KeptLaunch>(allocator, std::move(kernel), launch);
  copy_arguments(kept->launch, reinterpret_cast<std::byte*>(kept.get() + 1), arguments);
  LaunchWork work;
  work.kernel = kept->kernel->handle;
  work.name = &kept->kernel->name;
  const anyplace_launch* const copy = &kept->launch;
  work.launch = std::shared_ptr<const anyplace_launch>(std::move(kept), copy);
  return work;
}

/// Of a captured stream: a piece of the nodes' room, where the kernel is pinned once for many launches.
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

// ---- The quick comparison ------------------------------------------------------------------------------------------

static_assert(offsetof(anyplace_launch, grid) == 4 && offsetof(anyplace_launch, block) == 16 &&
              offsetof(anyplace_launch, argument_count) == 28);

/// 0 if the launch's numbers are within.
std::uint64_t beyond(const LaunchLimits& limits, const anyplace_launch& launch) noexcept {
#ifdef __SSE2__
  const auto at = [](const void* numbers, int i) { return _mm_loadu_si128(static_cast<const __m128i*>(numbers) + i); };
  const auto kept = [](const void* numbers, int i) { return *(static_cast<const __m128i*>(numbers) + i); };
  const __m128i low = _mm_add_epi32(at(&launch, 0), kept(limits.add, 0));
  const __m128i high = _mm_add_epi32(at(&launch, 1), kept(limits.add, 1));
  const __m128i over =
      _mm_or_si128(_mm_cmpgt_epi32(low, kept(limits.bound, 0)), _mm_cmpgt_epi32(high, kept(limits.bound, 1)));
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(over)));
#else
  std::uint32_t numbers[LaunchLimits::count];
  std::memcpy(numbers, &launch, sizeof(numbers));
  std::uint64_t over = 0;
  for (int i = 0; i < LaunchLimits::count; ++i) {
    over |= static_cast<std::int32_t>(numbers[i] + limits.add[i]) > limits.bound[i];
  }
  return over;
#endif
}

std::uint64_t difference(const DeviceState* a, const DeviceState* b) noexcept {
  return reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b);
}

/// Of as many arguments as the callable takes.
bool argument_sizes_fit(const KernelState& kernel, const anyplace_argument* arguments) noexcept {
  const std::uint32_t* expected = kernel.argument_sizes.data();
  const std::uint32_t* const end = expected + kernel.argument_sizes.size();
  for (; expected != end; ++expected, ++arguments) {
    if (arguments->size != *expected) return false;
  }
  return true;
}

anyplace_status launch_backend(const DeviceState& device, anyplace_stream stream, anyplace_kernel handle,
                               const anyplace_launch* launch) {
  return device.table->kernel_launch(device.self, stream, handle, launch);
}

[[gnu::noinline, gnu::cold]] anyplace_status refuse_arguments(void* state, anyplace_stream stream,
                                                              anyplace_kernel handle, const anyplace_launch* launch) {
  const KernelState& kernel = *static_cast<const KernelState*>(state);
  require_arguments(kernel, arguments_of(*launch), operation);
  return launch_backend(*kernel.device, stream, handle, launch);
}

/// What stands in a callable's slot in the place of the backend's entry. `state` is its KernelState; there are as many
/// arguments as it takes. Ends in one call in any case, so that it has no registers to save.
anyplace_status launch_callable(void* state, anyplace_stream stream, anyplace_kernel handle,
                                const anyplace_launch* launch) {
  const KernelState& kernel = *static_cast<const KernelState*>(state);
  if (!argument_sizes_fit(kernel, launch->arguments)) [[unlikely]]
    return refuse_arguments(state, stream, handle, launch);
  return launch_backend(*kernel.device, stream, handle, launch);
}

// ---- What the quick comparison leaves ------------------------------------------------------------------------------

[[noreturn]] void refuse_kernel(const KernelState& kernel, const StreamState& stream) {
  fail(ErrorCode::invalid_argument, stream.device->place, operation,
       fmt::format("the kernel is of {}, and the stream is of {}\nload it for each device", kernel.device->place,
                   stream.device->place));
}

/// Whether the launch's numbers are right, without a word about it. For launches with shared memory or whose blocks are
/// no lines, which are no mistake.
bool sizes_fit(const KernelState& kernel, const anyplace_launch& launch) noexcept {
  return beyond(kernel.wide_limits, launch) == 0 && threads_within(launch.block, kernel.max_threads_per_block) &&
         launch.shared_bytes <= kernel.max_shared_bytes;
}

/// Throws what is wrong with the launch.
void require_launch(const StreamState& stream, const KernelState& kernel, const anyplace_launch& launch) {
  if (kernel.device != stream.device) refuse_kernel(kernel, stream);
  require_usable(*stream.device, operation);
  require_sizes(kernel, launch, operation);
  require_arguments(kernel, arguments_of(launch), operation);
}

bool capture_launch(StreamState& stream, const KernelState& kernel, std::uint64_t kernel_id,
                    const anyplace_launch& launch) {
  CapturedLaunch captured{kernel, kernel_id, launch, arguments_of(launch), operation};
  return capture_made(stream, CapturedLaunch::make, &captured, operation);
}

/// The slow path of a stream that is captured, which many launches of a program may take: without a pin. False, and
/// nothing was done, if it is of another kind. No call with hazard pointers is made while it has two.
bool launch_captured(std::uint64_t kernel_id, std::uint64_t stream_id, const anyplace_launch& launch) {
  ThreadHazards* const hazards = call_state.hazards;
  if (hazards == nullptr || !any_capture()) return false;
  const Publication published(*hazards, kernel_id, stream_id);
  const Slot& kernel_slot = SlotTable<KernelState>::first_slot(kernel_id);
  const Slot& stream_slot = SlotTable<StreamState>::first_slot(stream_id);
  if (!kernel_slot.is_perhaps_careful(kernel_id) || !stream_slot.is_perhaps_careful(stream_id)) return false;
  auto& stream = *static_cast<StreamState*>(stream_slot.object);
  if (!stream.captured.load(std::memory_order_acquire)) return false;
  const auto& kernel = *static_cast<const KernelState*>(kernel_slot.object);
  require_launch(stream, kernel, launch);
  return capture_launch(stream, kernel, kernel_id, launch);
}

/// Throws what is wrong with the launch. Returns true if the stream is held or captured and has taken it.
[[gnu::noinline, gnu::cold]] bool check_launch(StreamState& stream, KernelState& kernel, std::uint64_t kernel_id,
                                               const anyplace_launch& launch) {
  require_launch(stream, kernel, launch);
  if (!stream.is_diverted()) return false;
  if (capture_launch(stream, kernel, kernel_id, launch)) return true;
  Pin<KernelState> kept = kernels().pin_again(kernel_id, operation);
  divert(stream, keep_launch(std::move(kept), launch, arguments_of(launch)), operation);
  return true;
}

/// Apart, and on the objects instead of a guard, so that the others have no registers to save for this.
template <bool careful>
[[gnu::noinline]] void launch_checked(KernelState& kernel, StreamState& stream, std::uint64_t kernel_id,
                                      const anyplace_launch& launch) {
  if (careful || kernel.device != stream.device || !sizes_fit(kernel, launch)) [[unlikely]] {
    if (check_launch(stream, kernel, kernel_id, launch)) return;
  }
  check(kernel.launch(kernel.launch_self, stream.handle, kernel.handle, &launch), stream, operation);
}

/// A guard is of kernel and stream (handles/use.h).
template <class Guard>
[[gnu::always_inline]] inline void launch_kernel(const Guard& guard, std::uint64_t kernel_id,
                                                 const anyplace_launch& launch) {
  const Slot& kernel = guard.first_slot();
  const Slot& stream = guard.second_slot();
  const std::uint64_t odd =
      difference(kernel.device.load(std::memory_order_relaxed), stream.device.load(std::memory_order_relaxed)) |
      launch.shared_bytes | beyond(kernels().limits(kernel_id), launch);
  if (guard.careful || odd != 0) [[unlikely]]
    return launch_checked<Guard::careful>(guard.first(), guard.second(), kernel_id, launch);
  guard.check(kernel.launch(kernel.launch_self(), stream.handle, kernel.handle, &launch), operation);
}

[[gnu::noinline, gnu::cold]] void launch_slowly(std::uint64_t kernel_id, std::uint64_t stream_id,
                                                const anyplace_launch& launch) {
  if (launch_captured(kernel_id, stream_id, launch)) return;
  use_pinned<KernelState, StreamState>(operation, kernel_id, stream_id, [kernel_id, &launch](const auto& guard) {
    launch_kernel(guard, kernel_id, launch);
  });
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
    return check(kernel->launch(kernel->launch_self, stream->handle, kernel->handle, &launch), *stream, called);
  }
  LaunchWork work = keep_launch(std::move(kernel), launch, arguments_of(launch));
  work.draw = std::move(draw);
  divert(*stream, std::move(work), called);
}

void KernelState::describe(Slot& slot, LaunchLimits* limits_of_slot) noexcept {
  const bool checks_sizes = !module && !argument_sizes.empty();
  launch = checks_sizes ? launch_callable : device->table->kernel_launch;
  launch_self = checks_sizes ? this : device->self;
  slot.launch = launch;
  slot.extra = reinterpret_cast<std::uintptr_t>(launch_self);
  if (limits_of_slot != nullptr) *limits_of_slot = limits;
}

}  // namespace detail

void StreamView::launch_on(std::uint64_t stream_id, std::uint64_t kernel_id,
                           const detail::LaunchDescription& description) {
  using namespace detail;
  const anyplace_launch& launch = boundary_launch(description);
  use_else<KernelState, StreamState>(
      kernel_id, stream_id, [kernel_id, &launch](const auto& guard) { launch_kernel(guard, kernel_id, launch); },
      [kernel_id, stream_id, &launch] { launch_slowly(kernel_id, stream_id, launch); });
}

void StreamView::launch_arguments(KernelView kernel, const LaunchConfig& config,
                                  std::span<const LaunchArgument> arguments) const {
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  std::copy_n(std::array{config.grid.x, config.grid.y, config.grid.z}.data(), 3, launch.grid);
  std::copy_n(std::array{config.block.x, config.block.y, config.block.z}.data(), 3, launch.block);
  launch.shared_bytes = config.shared_bytes;
  // More than the number can hold are as many too many.
  launch.argument_count = static_cast<std::uint32_t>(std::min<std::size_t>(arguments.size(), UINT32_MAX));
  launch.argument_stride = sizeof(anyplace_argument);
  launch.arguments = reinterpret_cast<const anyplace_argument*>(arguments.data());
  // Pinned, so that the body looks at each argument: these were put together at run time.
  const std::uint64_t kernel_id = kernel.id();
  detail::use_pinned<detail::KernelState, detail::StreamState>(
      detail::operation, kernel_id, id_, [&](const auto& guard) { detail::launch_kernel(guard, kernel_id, launch); });
}

}  // namespace anyplace
