// SPDX-License-Identifier: Apache-2.0
//
// Modules and what their build says, kernels, their arguments and launches.
#include <array>
#include <cstring>

#include "support/environment.h"
#include "test_support.h"

namespace module_test {

using Catch::Contains;
using test::ok;
using test::World;

namespace {

struct Built {
  ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
  ze_module_handle_t module = nullptr;
  std::string log;
};

Built build(const World& world, const std::string& input, bool native = false, const char* flags = nullptr) {
  auto desc = test::desc_of<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  desc.format = native ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV;
  desc.inputSize = input.size();
  desc.pInputModule = reinterpret_cast<const std::uint8_t*>(input.data());
  desc.pBuildFlags = flags;
  Built built;
  ze_module_build_log_handle_t log = nullptr;
  built.result = zeModuleCreate(world.context, world.devices[0], &desc, &built.module, &log);
  std::size_t bytes = 0;
  ok(zeModuleBuildLogGetString(log, &bytes, nullptr));
  REQUIRE(bytes > 0);
  std::vector<char> text(bytes, 'x');
  ok(zeModuleBuildLogGetString(log, &bytes, text.data()));
  REQUIRE(text.back() == '\0');
  ok(zeModuleBuildLogDestroy(log));
  built.log = text.data();
  return built;
}

ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char* name) {
  auto desc = test::desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  desc.pKernelName = name;
  ze_kernel_handle_t made = nullptr;
  ok(zeKernelCreate(module, &desc, &made));
  return made;
}

using Twelve = std::array<std::uint32_t, 3>;

}  // namespace

TEST_CASE("a module of either format is built without a word and has its kernels") {
  const World world;
  const bool native = GENERATE(false, true);
  const Built built = build(world, test::kernels_stand_in(native), native);
  CHECK(built.result == ZE_RESULT_SUCCESS);
  CHECK(built.log.empty());
  for (const char* name : {"count", "append", "report", "faulty"}) CHECK(kernel_of(built.module, name) != nullptr);
  auto desc = test::desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  ze_kernel_handle_t kernel = nullptr;
  desc.pKernelName = "no_such_kernel";
  CHECK(zeKernelCreate(built.module, &desc, &kernel) == ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  desc.pKernelName = "table";  // a variable
  CHECK(zeKernelCreate(built.module, &desc, &kernel) == ZE_RESULT_ERROR_INVALID_KERNEL_NAME);
  desc.pKernelName = nullptr;
  CHECK(zeKernelCreate(built.module, &desc, &kernel) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  desc.pKernelName = "count";
  desc.flags = 4;
  CHECK(zeKernelCreate(built.module, &desc, &kernel) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(kernel == nullptr);
}

TEST_CASE("a build that fails says why and makes no module") {
  const World world;
  const bool native = GENERATE(false, true);
  const auto failed = native ? ZE_RESULT_ERROR_INVALID_NATIVE_BINARY : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  const auto fails = [&](const std::string& input, const char* why, const char* flags = nullptr) {
    INFO(why);
    const Built built = build(world, input, native, flags);
    CHECK(built.result == failed);
    CHECK(built.module == nullptr);
    CHECK_THAT(built.log, Contains(why));
  };
  const std::string good = test::kernels_stand_in(native);
  fails(good, "-not-an-option", "-g -not-an-option");
  fails(good.substr(0, good.size() / 2), "damaged");
  fails(test::kernels_stand_in(!native), native ? "no host image" : "no SPIR-V");
  std::string no_mark = good;
  no_mark[native ? 0 : 20] = 'x';
  fails(no_mark, "no host image");
  std::string no_image = good;
  no_image.replace(no_image.find("\177ELF"), 4, "none");
  CHECK(build(world, no_image, native).result == failed);
  CHECK_FALSE(build(world, no_image, native).log.empty());
  CHECK(world.control.live("module") == 0);
  CHECK(world.control.live("build_log") == 0);
}

TEST_CASE("SPIR-V is taken up to the version that the device says") {
  test::set_env("LEVELZERO_DOUBLE_SPIRV", "1.3");
  const World world;
  auto with = test::desc_of<ze_device_module_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES);
  ok(zeDeviceGetModuleProperties(world.devices[0], &with));
  CHECK(with.spirvVersionSupported == ZE_MAKE_VERSION(1, 3));
  CHECK(build(world, test::kernels_stand_in(false, false, 0x00010300)).result == ZE_RESULT_SUCCESS);
  const Built newer = build(world, test::kernels_stand_in(false, false, 0x00010400));
  CHECK(newer.result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK_THAT(newer.log, Contains("newer version of SPIR-V"));
  CHECK(build(world, test::kernels_stand_in(false, false, 0x00ff0000)).result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
}

TEST_CASE("a module of nothing or of no format is refused before it is built") {
  const World world;
  const std::string input = test::kernels_stand_in();
  auto desc = test::desc_of<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  ze_module_handle_t made = nullptr;
  const auto create = [&] { return zeModuleCreate(world.context, world.devices[0], &desc, &made, nullptr); };
  desc.inputSize = input.size();
  CHECK(create() == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  desc.pInputModule = reinterpret_cast<const std::uint8_t*>(input.data());
  desc.inputSize = 0;
  CHECK(create() == ZE_RESULT_ERROR_INVALID_SIZE);
  desc.inputSize = input.size();
  desc.format = static_cast<ze_module_format_t>(2);
  CHECK(create() == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeModuleCreate(world.context, world.devices[0], &desc, nullptr, nullptr) ==
        ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(made == nullptr);
}

TEST_CASE("a build log is given whole or not at all") {
  const World world;
  const std::string input = "not SPIR-V, however long it is";
  auto desc = test::desc_of<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  desc.inputSize = input.size();
  desc.pInputModule = reinterpret_cast<const std::uint8_t*>(input.data());
  ze_module_handle_t module = nullptr;
  ze_module_build_log_handle_t log = nullptr;
  CHECK(zeModuleCreate(world.context, world.devices[0], &desc, &module, &log) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK(zeModuleBuildLogGetString(log, nullptr, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  std::size_t bytes = 0;
  ok(zeModuleBuildLogGetString(log, &bytes, nullptr));
  std::vector<char> text(bytes + 10, 'x');
  std::size_t fewer = bytes - 1;
  CHECK(zeModuleBuildLogGetString(log, &fewer, text.data()) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(text[0] == 'x');
  std::size_t more = text.size();
  ok(zeModuleBuildLogGetString(log, &more, text.data()));
  CHECK(more == bytes);
  CHECK(std::strlen(text.data()) + 1 == bytes);
  ok(zeModuleBuildLogDestroy(log));
  CHECK(zeModuleBuildLogDestroy(log) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_CASE("a kernel gets its arguments and the shape of its launch") {
  const World world;
  const bool shared = GENERATE(false, true);
  const auto kernel = kernel_of(world.module(0, shared), "report");
  auto with = test::desc_of<ze_kernel_properties_t>(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
  ok(zeKernelGetProperties(kernel, &with));
  CHECK(with.numKernelArgs == (shared ? 7 : 6));
  std::uint32_t* const out = world.words(std::vector<std::uint32_t>(28));
  std::uint32_t index = 0;
  ok(test::set_argument(kernel, index++, out));
  ok(test::set_argument(kernel, index++, std::uint8_t{0x12}));
  if (shared) ok(zeKernelSetArgumentValue(kernel, index++, 4096, nullptr));
  ok(test::set_argument(kernel, index++, std::uint16_t{0x1234}));
  ok(test::set_argument(kernel, index++, std::uint32_t{0x12345678}));
  ok(test::set_argument(kernel, index++, std::uint64_t{0x123456789abcdef0}));
  ok(test::set_argument(kernel, index++, Twelve{7, 8, 9}));
  CHECK(test::set_argument(kernel, index, 1U) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  ok(zeKernelSetGroupSize(kernel, 4, 2, 3));
  const auto list = world.list();
  const ze_group_count_t groups{2, 3, 4};
  ok(zeCommandListAppendLaunchKernel(list, kernel, &groups, nullptr, 0, nullptr));
  test::finish(world, list);
  std::uint64_t said[14];
  std::memcpy(said, out, sizeof(said));
  const std::uint64_t expected[14] = {0x12, 0x1234, 0x12345678, 0x123456789abcdef0, 7, 8, 9, 2, 3, 4,
                                      4,    2,      3,          shared ? 4096U : 0U};
  for (int i = 0; i < 14; ++i) {
    INFO(i);
    CHECK(said[i] == expected[i]);
  }
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("an argument is of its index and size") {
  const World world;
  const auto kernel = world.kernel("count");
  const std::uint64_t value = 0;
  CHECK(zeKernelSetArgumentValue(kernel, 2, 4, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  CHECK(zeKernelSetArgumentValue(kernel, 0, 4, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK(zeKernelSetArgumentValue(kernel, 1, 8, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK(zeKernelSetArgumentValue(kernel, 1, 0, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  ok(zeKernelSetArgumentValue(kernel, 0, 8, nullptr));
  const auto with_shared = kernel_of(world.module(0, true), "report");
  CHECK(zeKernelSetArgumentValue(with_shared, 2, 8, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
  CHECK(zeKernelSetArgumentValue(with_shared, 2, 0, nullptr) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
}

TEST_CASE("a launch keeps the arguments that were set when it was appended") {
  const World world;
  const auto list = world.list(test::in_order);
  std::uint32_t* const words = world.words({0, 0});
  const auto kernel = world.kernel("count");
  const auto gate = world.event();
  ok(test::set_argument(kernel, 0, words));
  ok(test::set_argument(kernel, 1, 5U));
  ok(test::launch(list, kernel, nullptr, {gate}, 3));
  ok(test::set_argument(kernel, 0, words + 1));
  ok(test::set_argument(kernel, 1, 7U));
  ok(test::launch(list, kernel));
  ok(zeEventHostSignal(gate));
  test::finish(world, list);
  CHECK((words[0] == 15 && words[1] == 7));
}

TEST_CASE("a group is of at least one thread and at most as many as the device says") {
  const World world;
  auto with = test::desc_of<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  ok(zeDeviceGetComputeProperties(world.devices[0], &with));
  const std::uint32_t most = with.maxTotalGroupSize;
  const auto kernel = world.kernel("faulty");
  ok(zeKernelSetGroupSize(kernel, most, 1, 1));
  ok(zeKernelSetGroupSize(kernel, 1, most / 2, 2));
  for (const auto& [x, y, z] : {Twelve{0, 1, 1}, Twelve{1, 0, 1}, Twelve{1, 1, 0}, Twelve{most + 1, 1, 1},
                                Twelve{most, 2, 1}, Twelve{1U << 31U, 1U << 31U, 4}}) {
    CHECK(zeKernelSetGroupSize(kernel, x, y, z) == ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION);
  }
}

TEST_CASE("a launch without a group size or arguments or groups is refused") {
  const World world;
  const auto list = world.list();
  const auto module = world.module(0, true);
  const auto kernel = kernel_of(module, "faulty");
  ok(test::set_argument(kernel, 0, 1U));
  CHECK(test::launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("before its group size was set"));
  ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
  CHECK(test::launch(list, kernel, nullptr, {}, 0) == ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
  CHECK(zeCommandListAppendLaunchKernel(list, kernel, nullptr, nullptr, 0, nullptr) ==
        ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  const auto count = world.kernel("count");
  ok(test::set_argument(count, 1, 1U));
  CHECK(test::launch(list, count) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("before all its arguments were set"));
  const auto report = kernel_of(module, "report");
  ok(zeKernelSetGroupSize(report, 1, 1, 1));
  CHECK(test::launch(list, report) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("without its local memory's size"));
  CHECK(world.control.misuses() == 4);
}

TEST_CASE("a kernel is of its module's device and of its parts, and of its context") {
  test::set_env("LEVELZERO_DOUBLE_SUBDEVICES", "1");
  World world;
  std::uint32_t one = 1;
  ze_device_handle_t part = nullptr;
  ok(zeDeviceGetSubDevices(world.devices[0], &one, &part));
  world.devices.push_back(part);
  std::uint32_t* const word = world.words({0});
  const auto kernel = world.kernel("count");
  ok(test::set_argument(kernel, 0, word));
  ok(test::set_argument(kernel, 1, 1U));
  CHECK(test::launch(world.list(0, 1), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  const auto list = world.list(0, 2);
  ok(test::launch(list, kernel));
  test::finish(world, list);
  CHECK(*word == 1);
  world.context = world.another_context();
  CHECK(test::launch(world.list(), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("a kernel is refused freed memory and takes any other number") {
  const World world;
  const auto list = world.list();
  const auto kernel = kernel_of(world.module(), "report");
  ok(zeKernelSetGroupSize(kernel, 1, 1, 1));
  std::uint32_t* const out = world.words(std::vector<std::uint32_t>(28));
  std::uint32_t* const gone = world.words({1});
  ok(zeMemFree(world.context, gone));
  ok(test::set_argument(kernel, 0, out));
  ok(test::set_argument(kernel, 1, std::uint8_t{1}));
  ok(test::set_argument(kernel, 2, std::uint16_t{1}));
  ok(test::set_argument(kernel, 3, 1U));
  ok(test::set_argument(kernel, 5, Twelve{}));
  ok(test::set_argument(kernel, 4, gone));
  CHECK(test::launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  ok(test::set_argument(kernel, 4, std::uint64_t{4711}));
  ok(test::launch(list, kernel));
  test::finish(world, list);
  CHECK(world.control.misuses() == 1);
}

TEST_CASE("a kernel that faults loses its device") {
  const World world;
  const auto kernel = world.kernel("faulty");
  ok(test::set_argument(kernel, 0, 1U));
  const auto done = world.event();
  ok(test::launch(world.list(), kernel, done));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(world.devices[0]) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(world.devices[1]) == ZE_RESULT_SUCCESS);
}

}  // namespace module_test
