// SPDX-License-Identifier: Apache-2.0
//
// The commands that are appended to lists: barriers, events, copies, fills and kernels. What they wait for is
// list.cpp's.
#include <algorithm>
#include <cstring>

#include "list.h"

namespace anyplace::doubles::levelzero {
namespace {

/// The counter begins shortly before its end, so that it begins again while tests look.
uint64_t ticks_now() {
  static const uint64_t begin = now_nanoseconds();
  const Config& c = state().config;
  const uint64_t mask = c.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << c.timestamp_bits) - 1;
  const auto since = static_cast<double>(now_nanoseconds() - begin) / 1e9 * static_cast<double>(c.ticks);
  return (static_cast<uint64_t>(since) + mask - c.ticks / 100) & mask;
}

bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

// ---- Order
// -----------------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandListAppendBarrier(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t count,
                                          ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {signal, count, waits}, Order::barrier, std::move(operation));
}

ze_result_t do_zeCommandListAppendEventReset(ze_command_list_handle_t handle, ze_event_handle_t event) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (event == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {}, Order::command, std::move(operation), event);
}

ze_result_t do_zeCommandListAppendSignalEvent(ze_command_list_handle_t handle, ze_event_handle_t event) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (event == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {event, 0, nullptr}, Order::command, std::move(operation));
}

ze_result_t do_zeCommandListAppendWaitOnEvents(ze_command_list_handle_t handle, uint32_t count,
                                               ze_event_handle_t* events) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (events == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return misuse("a wait for no events");
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {nullptr, count, events}, Order::barrier, std::move(operation));
}

ze_result_t do_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t handle, uint64_t* address,
                                                       ze_event_handle_t signal, uint32_t count,
                                                       ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, address, sizeof(*address), Access::write, uses));
  if (reinterpret_cast<uint64_t>(address) % sizeof(*address) != 0) {
    return misuse("a timestamp's address isn't aligned", ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  }
  return append_task(*list, {signal, count, waits}, "a timestamp", std::move(uses), [address] {
    const uint64_t ticks = ticks_now();
    std::memcpy(address, &ticks, sizeof(ticks));
    return 0;
  });
}

// ---- Copies and fills
// ------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void* to, const void* from, size_t bytes,
                                             ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (bytes == 0) return misuse("a copy of no bytes", ZE_RESULT_ERROR_INVALID_SIZE);
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, to, bytes, Access::write, uses));
  LEVELZERO_DOUBLE_TRY(check_range(*list, from, bytes, Access::read, uses));
  const auto a = reinterpret_cast<uint64_t>(to);
  const auto b = reinterpret_cast<uint64_t>(from);
  if (a < b + bytes && b < a + bytes) return misuse("a copy's ranges overlap", ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  return append_task(*list, {signal, count, waits}, "a copy", std::move(uses), [to, from, bytes] {
    std::memcpy(to, from, bytes);
    return 0;
  });
}

namespace {

struct Rows {
  uint64_t start = 0;
  uint64_t pitch = 0;
};

/// Whether a byte of the one region is of the other, too.
bool overlap(const Rows& a, const Rows& b, const ze_copy_region_t& size) {
  for (uint64_t row = 0; row < size.height; ++row) {
    const uint64_t begin = a.start + row * a.pitch;
    const uint64_t end = begin + size.width;
    if (end <= b.start) continue;
    // The first row of b that ends behind `begin`.
    const uint64_t past = b.start + size.width;
    const uint64_t first = begin < past ? 0 : (begin - past) / b.pitch + 1;
    if (first < size.height && b.start + first * b.pitch < end) return true;
  }
  return false;
}

}  // namespace

ze_result_t do_zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t handle, void* to,
                                                   const ze_copy_region_t* to_region, uint32_t to_pitch, uint32_t,
                                                   const void* from, const ze_copy_region_t* from_region,
                                                   uint32_t from_pitch, uint32_t, ze_event_handle_t signal,
                                                   uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (to == nullptr || from == nullptr || to_region == nullptr || from_region == nullptr)
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const ze_copy_region_t& r = *to_region;
  const ze_copy_region_t& s = *from_region;
  if (r.width != s.width || r.height != s.height || r.depth != s.depth)
    return misuse("a copy's regions differ in size");
  if (r.depth > 1 || r.originZ != 0 || s.originZ != 0) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  if (r.width == 0 || r.height == 0) return misuse("a copy of an empty region");
  if (to_pitch < r.width || from_pitch < r.width) return misuse("a copy's pitch is smaller than its width");
  auto* const out = static_cast<char*>(to) + r.originX + uint64_t{r.originY} * to_pitch;
  const auto* const in = static_cast<const char*>(from) + s.originX + uint64_t{s.originY} * from_pitch;
  std::vector<Use> uses;
  const uint64_t rows = r.height - 1;
  LEVELZERO_DOUBLE_TRY(check_range(*list, out, rows * to_pitch + r.width, Access::write, uses));
  LEVELZERO_DOUBLE_TRY(check_range(*list, in, rows * from_pitch + r.width, Access::read, uses));
  if (overlap({reinterpret_cast<uint64_t>(out), to_pitch}, {reinterpret_cast<uint64_t>(in), from_pitch}, r)) {
    return misuse("a copy's regions overlap", ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  }
  return append_task(*list, {signal, count, waits}, "a copy", std::move(uses),
                     [out, in, to_pitch, from_pitch, width = r.width, height = r.height] {
                       for (uint64_t row = 0; row < height; ++row) {
                         std::memcpy(out + row * to_pitch, in + row * from_pitch, width);
                       }
                       return 0;
                     });
}

ze_result_t do_zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void* to, const void* pattern,
                                             size_t pattern_bytes, size_t bytes, ze_event_handle_t signal,
                                             uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (pattern == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const bool fits = is_power_of_two(pattern_bytes) && pattern_bytes <= state().config.fill_pattern;
  if (!fits)
    return misuse("a fill's pattern is longer than the queue can do, or no power of two", ZE_RESULT_ERROR_INVALID_SIZE);
  if (bytes == 0 || bytes % pattern_bytes != 0)
    return misuse("a fill isn't a whole number of patterns", ZE_RESULT_ERROR_INVALID_SIZE);
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, to, bytes, Access::write, uses));
  // As much of it as a large fill is made of at a time: by patterns of a byte 4 GiB take minutes under a sanitizer.
  constexpr size_t most = 1 << 16;
  std::vector<char> copies(std::min(bytes, most));
  for (size_t at = 0; at < copies.size(); at += pattern_bytes) std::memcpy(&copies[at], pattern, pattern_bytes);
  return append_task(*list, {signal, count, waits}, "a fill", std::move(uses), [to, bytes, copies = std::move(copies)] {
    auto* const out = static_cast<char*>(to);
    for (size_t at = 0; at < bytes; at += copies.size()) {
      std::memcpy(out + at, copies.data(), std::min(copies.size(), bytes - at));
    }
    return 0;
  });
}

// ---- Kernels
// ---------------------------------------------------------------------------------------------------------

namespace {

struct Launch {
  KernelRef kernel;
  KernelShape shape;
  KernelArguments arguments;
  Launch(KernelRef of, const KernelShape& with, KernelArguments values)
      : kernel(std::move(of)), shape(with), arguments(std::move(values)) {
    ++kernel->launches;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() { --kernel->launches; }
};

/// The fault that a test has asked for, if it is this kernel's turn.
int fault_asked_for(Device& device) {
  const Locked lock(state().mutex);
  if (device.kernels_until_fault == 0 || --device.kernels_until_fault != 0) return 0;
  return device.kernel_fault;
}

int run(const Launch& launch, Device& device) {
  if (const int fault = fault_asked_for(device); fault != 0) return fault;
  device.kernel_time->begin();
  const bool done =
      run_kernel(launch.kernel->host, launch.shape, launch.arguments, [] { return state().engine.stopped(); });
  device.kernel_time->end();
  return done ? 0 : fault;
}

/// Values of 8 bytes that are addresses of the double's are taken for pointers.
ze_result_t find_uses(const CommandList& list, const KernelArguments& arguments, std::vector<Use>& uses) {
  for (const uint64_t address : arguments.addresses()) {
    const Verdict verdict = state().memory.find(address, 1).verdict;
    if (verdict == Verdict::foreign || verdict == Verdict::out_of_range) continue;
    LEVELZERO_DOUBLE_TRY(check_range(list, reinterpret_cast<const void*>(address), 1, Access::read, uses));  // NOLINT
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_shape(const Kernel& kernel, const ze_group_count_t& groups) {
  const uint64_t threads = uint64_t{kernel.group[0]} * kernel.group[1] * kernel.group[2];
  if (threads == 0) return misuse("a kernel was launched before its group size was set");
  if (threads > 1024) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  if (groups.groupCountX == 0 || groups.groupCountY == 0 || groups.groupCountZ == 0) {
    return misuse("a launch of no groups", ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
  }
  if (kernel.shared_argument >= 0 && kernel.shared_bytes == 0)
    return misuse("a launch without its local memory's size");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t do_zeCommandListAppendLaunchKernel(ze_command_list_handle_t handle, ze_kernel_handle_t kernel_handle,
                                               const ze_group_count_t* groups, ze_event_handle_t signal, uint32_t count,
                                               ze_event_handle_t* waits) {
  CommandListRef list;
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  LEVELZERO_DOUBLE_TRY(find(state().kernels, kernel_handle, kernel, "kernel"));
  if (groups == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const OneAtATime alone(kernel->busy, "kernel");
  LEVELZERO_DOUBLE_TRY(alone.result());
  if (!serves(*kernel->module->device, *list->device) || kernel->module->context != list->context) {
    return misuse("a kernel was launched on another device or context than its module's");
  }
  LEVELZERO_DOUBLE_TRY(check_shape(*kernel, *groups));
  std::vector<const void*> values;
  for (const auto& value : kernel->values) {
    if (value.empty()) return misuse("a kernel was launched before all its arguments were set");
    values.push_back(value.data());
  }
  const KernelShape shape{{groups->groupCountX, groups->groupCountY, groups->groupCountZ},
                          {kernel->group[0], kernel->group[1], kernel->group[2]},
                          kernel->shared_bytes};
  const auto launch = std::make_shared<Launch>(kernel, shape, KernelArguments(kernel->host.sizes, values.data()));
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(find_uses(*list, launch->arguments, uses));
  return append_task(*list, {signal, count, waits}, "a kernel", std::move(uses),
                     [launch, device = list->device] { return run(*launch, *device); });
}

}  // namespace anyplace::doubles::levelzero
