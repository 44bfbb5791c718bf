// SPDX-License-Identifier: Apache-2.0
//
// Handles that are none, objects that are in use, threads that share what they must not, and descriptors that aren't
// what they should be: what a real driver may crash on has to be seen here.
#include <atomic>
#include <thread>

#include "all_entries.h"
#include "test_support.h"

namespace strict_test {

using Catch::Contains;
using test::each_gives;
using test::Entry;
using test::ok;
using test::World;

namespace {

bool takes_no_handle(const Entry& entry) {
  const std::string symbol = entry.symbol;
  return symbol == "zeInit" || symbol == "zeDriverGet";
}

}  // namespace

TEST_CASE("nothing works before zeInit") {
  for (const Entry& entry : test::all_entries) {
    INFO(entry.symbol);
    if (std::string(entry.symbol) != "zeInit") CHECK(entry.with_zeros() == ZE_RESULT_ERROR_UNINITIALIZED);
  }
}

TEST_CASE("null for a handle is refused by every entry and is no misuse") {
  const World world;
  for (const Entry& entry : test::all_entries) {
    INFO(entry.symbol);
    if (!takes_no_handle(entry)) CHECK(entry.with_zeros() == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  }
  CHECK(zeDriverGet(nullptr, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a handle that is none, or of something else, is refused by every entry and noted") {
  const World world;
  // Made up; and a good one, but of an object that no entry's first handle is.
  const auto log = reinterpret_cast<std::uint64_t>(world.context) | 0xff;
  for (const std::uint64_t wrong : {std::uint64_t{0x1234}, log}) {
    for (const Entry& entry : test::all_entries) {
      if (takes_no_handle(entry)) continue;
      INFO(entry.symbol);
      world.control.reset();
      CHECK(entry.with_wrong_handle(wrong) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
      CHECK(world.control.misuses() == 1);
    }
  }
}

TEST_CASE("a destroyed handle is none and is never given out again") {
  const World world;
  const auto list = world.list();
  const auto kernel = world.kernel("faulty");
  const auto pool = world.pool(1);
  const auto event = test::event_of(pool);
  const auto context = world.another_context();
  each_gives(ZE_RESULT_SUCCESS, {zeCommandListDestroy(list), zeKernelDestroy(kernel), zeEventDestroy(event),
                                 zeEventPoolDestroy(pool), zeContextDestroy(context)});
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
             {zeCommandListDestroy(list), zeKernelDestroy(kernel), zeEventDestroy(event), zeEventPoolDestroy(pool),
              zeContextDestroy(context), test::barrier(list), test::launch(world.list(), kernel),
              zeDeviceGetStatus(reinterpret_cast<ze_device_handle_t>(world.list()))});  // of another kind
  CHECK(world.control.misuses() == 8);
  for (int i = 0; i < 100; ++i) REQUIRE(world.list() != list);
}

TEST_CASE("a kernel is not destroyed before its launches are done nor a module before its kernels") {
  const World world;
  const auto module = world.module();
  auto desc = test::desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  desc.pKernelName = "count";
  ze_kernel_handle_t kernel = nullptr;
  ok(zeKernelCreate(module, &desc, &kernel));
  ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
  std::uint32_t* const word = world.words({1});
  ok(test::set_argument(kernel, 0, word));
  ok(test::set_argument(kernel, 1, 1U));
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::launch(world.list(), kernel, done, {gate}));
  CHECK(zeKernelDestroy(kernel) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeModuleDestroy(module) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(world.control.misuses() == 2);
  ok(zeEventHostSignal(gate));
  ok(test::wait(done));
  CHECK(*word == 2);
  ok(zeKernelDestroy(kernel));
  ok(zeModuleDestroy(module));
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("a context is not destroyed while it has anything") {
  const World world;
  const auto refused = [&world](ze_result_t given_back) {
    ok(given_back);
    return zeContextDestroy(world.context);
  };
  const auto in_use = ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
  const auto list = world.list();
  const auto pool = world.pool(1);
  const auto module = world.module();
  std::uint32_t* const words = world.words({1});
  void* range = nullptr;
  ok(zeVirtualMemReserve(world.context, nullptr, 64 << 10, &range));
  auto desc = test::desc_of<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
  desc.size = 64 << 10;
  ze_physical_mem_handle_t physical = nullptr;
  ok(zePhysicalMemCreate(world.context, world.devices[0], &desc, &physical));
  each_gives(in_use,
             {zeContextDestroy(world.context), refused(zeCommandListDestroy(list)), refused(zeEventPoolDestroy(pool)),
              refused(zeModuleDestroy(module)), refused(zeMemFree(world.context, words)),
              refused(zeVirtualMemFree(world.context, range, 64 << 10))});
  CHECK(world.control.misuses() == 6);
  ok(refused(zePhysicalMemDestroy(world.context, physical)));
  CHECK(world.control.live() == 0);
}

TEST_CASE("two threads that use one list at a time are noticed") {
  const World world;
  const auto list = world.list(0, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  // The one is in its call until the gate opens. Whoever comes second is told, so the one may have to try again.
  std::thread first([&] {
    while (test::fill(list, word, 2, 1, nullptr, {gate}) != ZE_RESULT_SUCCESS) {
    }
  });
  ze_result_t second = ZE_RESULT_SUCCESS;
  while (second == ZE_RESULT_SUCCESS) second = test::barrier(list);
  CHECK(zeCommandListDestroy(list) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(zeEventHostSignal(gate) == ZE_RESULT_SUCCESS);
  first.join();
  CHECK(second == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(*word == 2);
  CHECK(world.control.misuses() >= 2);
  CHECK_THAT(world.control.misuse_text(), Contains("two threads used one command list at a time"));
  ok(test::barrier(list));  // and it is good again
}

TEST_CASE("two threads that use one kernel at a time are noticed") {
  const World world;
  const auto kernel = world.kernel("faulty");
  std::atomic<bool> noticed{false};
  const auto use = [&] {
    for (std::uint32_t i = 0; !noticed; ++i) {
      if (test::set_argument(kernel, 0, i) != ZE_RESULT_SUCCESS) noticed = true;
    }
  };
  std::thread other(use);
  use();
  other.join();
  CHECK(world.control.misuses() > 0);
  CHECK_THAT(world.control.misuse_text(), Contains("two threads used one kernel at a time"));
}

TEST_CASE("a descriptor of another type is refused and noted") {
  const World world;
  const auto pool = world.pool(1);
  const auto module = world.module();
  world.control.reset();
  void* made = nullptr;
  const auto out = [&made](auto type) { return reinterpret_cast<decltype(type)*>(&made); };
  const auto wrong = [](auto desc) {
    desc.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC;
    return desc;
  };
  const auto context = wrong(ze_context_desc_t{});
  const auto queue = wrong(ze_command_queue_desc_t{});
  const auto events = wrong(ze_event_pool_desc_t{});
  const auto event = wrong(ze_event_desc_t{});
  const auto device_memory = wrong(ze_device_mem_alloc_desc_t{});
  const auto host_memory = wrong(ze_host_mem_alloc_desc_t{});
  auto physical = wrong(ze_physical_mem_desc_t{});
  const auto code = wrong(ze_module_desc_t{});
  const auto kernel = wrong(ze_kernel_desc_t{});
  auto properties = wrong(ze_device_properties_t{});
  const auto device = world.devices[0];
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {zeContextCreate(world.driver, &context, out(ze_context_handle_t{})),
              zeCommandListCreateImmediate(world.context, device, &queue, out(ze_command_list_handle_t{})),
              zeEventPoolCreate(world.context, &events, 0, nullptr, out(ze_event_pool_handle_t{})),
              zeEventCreate(pool, &event, out(ze_event_handle_t{})),
              zeMemAllocDevice(world.context, &device_memory, 4, 0, device, &made),
              zeMemAllocHost(world.context, &host_memory, 4, 0, &made),
              zePhysicalMemCreate(world.context, device, &physical, out(ze_physical_mem_handle_t{})),
              zeModuleCreate(world.context, device, &code, out(ze_module_handle_t{}), nullptr),
              zeKernelCreate(module, &kernel, out(ze_kernel_handle_t{})), zeDeviceGetProperties(device, &properties)});
  CHECK(world.control.misuses() == 10);
  CHECK(made == nullptr);
}

TEST_CASE("a list is refused with what its queue can't have") {
  const World world;
  auto desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  ze_command_list_handle_t made = nullptr;
  const auto create = [&](auto change) {
    desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.ordinal = 2;
    change();
    return zeCommandListCreateImmediate(world.context, world.devices[0], &desc, &made);
  };
  CHECK(create([&] { desc.flags = 4; }) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(create([&] { desc.mode = static_cast<ze_command_queue_mode_t>(3); }) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(create([&] { desc.priority = static_cast<ze_command_queue_priority_t>(3); }) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.control.misuses() == 0);
  CHECK(create([&] { desc.ordinal = 0; }) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // no queue
  CHECK(create([&] { desc.ordinal = 1; }) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // no kernels
  CHECK(create([&] { desc.ordinal = 3; }) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // no group
  CHECK(create([&] { desc.index = 4; }) == ZE_RESULT_ERROR_INVALID_ARGUMENT);    // no such queue
  CHECK(world.control.misuses() == 4);
  CHECK(made == nullptr);
  CHECK(create([&] { desc.index = 3; }) == ZE_RESULT_SUCCESS);
}

TEST_CASE("flags that aren't defined are refused") {
  const World world;
  auto context = test::desc_of<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  context.flags = 2;
  ze_context_handle_t made = nullptr;
  CHECK(zeContextCreate(world.driver, &context, &made) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(made == nullptr);
  CHECK(zeInit(4) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeInit(ZE_INIT_FLAG_GPU_ONLY) == ZE_RESULT_SUCCESS);
  CHECK(zeKernelSetIndirectAccess(world.kernel("faulty"), 8) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeKernelSetIndirectAccess(world.kernel("faulty"), 7) == ZE_RESULT_SUCCESS);
}

}  // namespace strict_test
