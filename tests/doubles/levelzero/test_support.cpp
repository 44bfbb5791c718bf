// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "stand_in.h"

namespace Catch {

std::string StringMaker<ze_result_t>::convert(ze_result_t result) {
  char text[40];
  std::snprintf(text, sizeof(text), "ze_result_t 0x%x", static_cast<unsigned>(result));
  return text;
}

}  // namespace Catch

namespace test {
namespace {

ze_event_handle_t* array_of(Waits& waits) { return waits.empty() ? nullptr : waits.data(); }
std::uint32_t count_of(const Waits& waits) { return static_cast<std::uint32_t>(waits.size()); }

/// Before the controls are looked for in it.
const char* initialised() {
  ok(zeInit(0));
  return LEVELZERO_DOUBLE_LIBRARY;
}

}  // namespace

World::World() : control(initialised()) {
  std::uint32_t count = 1;
  ok(zeDriverGet(&count, &driver));
  count = 0;
  ok(zeDeviceGet(driver, &count, nullptr));
  devices.resize(count);
  ok(zeDeviceGet(driver, &count, devices.data()));
  context = another_context();
}

ze_context_handle_t World::another_context() const {
  const auto desc = desc_of<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  ze_context_handle_t made = nullptr;
  ok(zeContextCreate(driver, &desc, &made));
  return made;
}

ze_command_list_handle_t World::list(ze_command_queue_flags_t flags, std::size_t device, ze_command_queue_mode_t mode,
                                     ze_command_queue_priority_t priority) const {
  auto desc = desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = 2;
  desc.flags = flags;
  desc.mode = mode;
  desc.priority = priority;
  ze_command_list_handle_t made = nullptr;
  ok(zeCommandListCreateImmediate(context, devices.at(device), &desc, &made));
  return made;
}

ze_event_pool_handle_t World::pool(std::uint32_t count, ze_event_pool_flags_t flags) const {
  auto desc = desc_of<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  desc.flags = flags;
  desc.count = count;
  ze_event_pool_handle_t made = nullptr;
  ok(zeEventPoolCreate(context, &desc, 0, nullptr, &made));
  return made;
}

ze_event_handle_t World::event() const { return event_of(pool(1)); }

ze_event_handle_t event_of(ze_event_pool_handle_t pool, std::uint32_t index) {
  auto desc = desc_of<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
  desc.index = index;
  desc.signal = desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  ze_event_handle_t made = nullptr;
  ok(zeEventCreate(pool, &desc, &made));
  return made;
}

std::uint32_t* World::words(const std::vector<std::uint32_t>& values, std::size_t device) const {
  const auto desc = desc_of<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  void* made = nullptr;
  ok(zeMemAllocDevice(context, &desc, values.size() * 4, 4, devices.at(device), &made));
  std::copy(values.begin(), values.end(), static_cast<std::uint32_t*>(made));
  return static_cast<std::uint32_t*>(made);
}

ze_module_handle_t World::module(std::size_t device, bool shared) const {
  const std::string input = kernels_stand_in(false, shared);
  auto desc = desc_of<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  desc.format = ZE_MODULE_FORMAT_IL_SPIRV;
  desc.inputSize = input.size();
  desc.pInputModule = reinterpret_cast<const std::uint8_t*>(input.data());
  ze_module_handle_t made = nullptr;
  ok(zeModuleCreate(context, devices.at(device), &desc, &made, nullptr));
  return made;
}

ze_kernel_handle_t World::kernel(const char* name, std::size_t device) const {
  auto desc = desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  desc.pKernelName = name;
  ze_kernel_handle_t made = nullptr;
  ok(zeKernelCreate(module(device), &desc, &made));
  ok(zeKernelSetGroupSize(made, 1, 1, 1));
  return made;
}

ze_result_t fill(ze_command_list_handle_t list, std::uint32_t* words, std::uint32_t value, std::size_t count,
                 ze_event_handle_t signal, Waits waits) {
  return zeCommandListAppendMemoryFill(list, words, &value, 4, 4 * count, signal, count_of(waits), array_of(waits));
}

ze_result_t copy(ze_command_list_handle_t list, std::uint32_t* to, const std::uint32_t* from, std::size_t count,
                 ze_event_handle_t signal, Waits waits) {
  return zeCommandListAppendMemoryCopy(list, to, from, 4 * count, signal, count_of(waits), array_of(waits));
}

ze_result_t barrier(ze_command_list_handle_t list, ze_event_handle_t signal, Waits waits) {
  return zeCommandListAppendBarrier(list, signal, count_of(waits), array_of(waits));
}

ze_result_t launch(ze_command_list_handle_t list, ze_kernel_handle_t kernel, ze_event_handle_t signal, Waits waits,
                   std::uint32_t groups) {
  const ze_group_count_t shape{groups, 1, 1};
  return zeCommandListAppendLaunchKernel(list, kernel, &shape, signal, count_of(waits), array_of(waits));
}

void finish(const World& world, ze_command_list_handle_t list) {
  const ze_event_handle_t done = world.event();
  ok(barrier(list, done));
  ok(wait(done));
}

std::string kernels_image() {
  std::ifstream file(ANYPLACE_DOUBLE_TEST_KERNELS, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string kernels_stand_in(bool native, bool shared, std::uint32_t spirv_version) {
  anyplace::doubles::levelzero::StandIn of;
  of.image = kernels_image();
  of.spirv_version = spirv_version;
  if (shared) of.shared_arguments["report"] = 2;
  return anyplace::doubles::levelzero::make_stand_in(of, native);
}

}  // namespace test
