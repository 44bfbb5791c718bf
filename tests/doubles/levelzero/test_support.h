// SPDX-License-Identifier: Apache-2.0
//
// What the double's own tests share. They use the double as any program uses Level Zero: linked with libze_loader.so.1,
// by ze_api.h; here that library is the double itself. Every case is a process of its own, so it may set environment
// variables before the first call.
#pragma once

#include <level_zero/ze_api.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "../test_support.hpp"

// Newer than the header's version.
extern "C" ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t* immediate);
extern "C" ze_result_t zeCommandListGetDeviceHandle(ze_command_list_handle_t list, ze_device_handle_t* device);
extern "C" ze_result_t zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle);

namespace Catch {
template <>
struct StringMaker<ze_result_t> {
  static std::string convert(ze_result_t result);
};
}  // namespace Catch

namespace test {

using anyplace::doubles::Control;

constexpr ze_command_queue_flags_t in_order = 1U << 1U;  // ZE_COMMAND_QUEUE_FLAG_IN_ORDER, of 1.9
using Waits = std::vector<ze_event_handle_t>;

/// The call is expected to succeed. For the thread that runs the case.
inline void ok(ze_result_t result, int line = __builtin_LINE()) {
  INFO("the call in line " << line);
  REQUIRE(result == ZE_RESULT_SUCCESS);
}

/// A descriptor or struct of properties, zero but for its type.
template <class Desc>
Desc desc_of(ze_structure_type_t type) {
  Desc desc{};
  desc.stype = type;
  return desc;
}

/// An initialised driver, a context, and what is easily made in it. Nothing is given back: the process ends with the
/// case.
class World {
 public:
  World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  ze_driver_handle_t driver = nullptr;
  std::vector<ze_device_handle_t> devices;
  ze_context_handle_t context = nullptr;
  const Control control;

  ze_context_handle_t another_context() const;
  /// An immediate list.
  ze_command_list_handle_t list(ze_command_queue_flags_t flags = 0, std::size_t device = 0,
                                ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
                                ze_command_queue_priority_t priority = ZE_COMMAND_QUEUE_PRIORITY_NORMAL) const;
  ze_event_pool_handle_t pool(std::uint32_t count, ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE) const;
  /// That the host can see.
  ze_event_handle_t event() const;
  /// Memory of the device that begins with these words. The double's device memory is memory of this process.
  std::uint32_t* words(const std::vector<std::uint32_t>& values, std::size_t device = 0) const;
  /// The module of test_kernels.c, whose kernel `report` has shared memory as argument 2 if `shared`.
  ze_module_handle_t module(std::size_t device = 0, bool shared = false) const;
  /// Of a module of its own; with a group of one.
  ze_kernel_handle_t kernel(const char* name, std::size_t device = 0) const;
};

/// One from the pool.
ze_event_handle_t event_of(ze_event_pool_handle_t pool, std::uint32_t index = 0);

/// `count` words, each of that value.
ze_result_t fill(ze_command_list_handle_t list, std::uint32_t* words, std::uint32_t value, std::size_t count = 1,
                 ze_event_handle_t signal = nullptr, Waits waits = {});
ze_result_t copy(ze_command_list_handle_t list, std::uint32_t* to, const std::uint32_t* from, std::size_t count = 1,
                 ze_event_handle_t signal = nullptr, Waits waits = {});
ze_result_t barrier(ze_command_list_handle_t list, ze_event_handle_t signal = nullptr, Waits waits = {});
/// `groups` groups along x.
ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal = nullptr,
                   Waits waits = {}, std::uint32_t groups = 1);
template <class Value>
ze_result_t set_argument(ze_kernel_handle_t kernel, std::uint32_t index, const Value& value) {
  return zeKernelSetArgumentValue(kernel, index, sizeof(value), &value);
}
/// Until all that was appended to the list is done.
void finish(const World& world, ze_command_list_handle_t list);
inline ze_result_t wait(ze_event_handle_t event) { return zeEventHostSynchronize(event, UINT64_MAX); }

/// test_kernels.c as a shared object, and as the double takes it.
std::string kernels_image();
std::string kernels_stand_in(bool native = false, bool shared = false, std::uint32_t spirv_version = 0x00010000);

}  // namespace test
