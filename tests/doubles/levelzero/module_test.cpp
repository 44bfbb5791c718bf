// SPDX-License-Identifier: Apache-2.0
//
// Modules whose build fails and what it says, and kernels, arguments and launches that are refused.
#include <array>
#include <cstring>

#include "test_support.h"

namespace module_test {

using Catch::Contains;
using test::each_gives;
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

TEST_CASE("a module has the kernels that are in it") {
  const World world;
  const Built built = build(world, test::kernels_stand_in(true), true);
  CHECK(built.result == ZE_RESULT_SUCCESS);
  CHECK(built.log.empty());
  ze_kernel_handle_t kernel = nullptr;
  const auto create = [&](const char* name, ze_kernel_flags_t flags = 0) {
    auto desc = test::desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
    desc.pKernelName = name;
    desc.flags = flags;
    return zeKernelCreate(built.module, &desc, &kernel);
  };
  each_gives(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, {create("no_such_kernel"), create("table")});  // a variable
  CHECK(create(nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(create("count", 4) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(kernel == nullptr);
  ok(create("count"));
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
  CHECK(build(world, test::kernels_stand_in(false, false, 0x00010300)).result == ZE_RESULT_SUCCESS);
  const Built newer = build(world, test::kernels_stand_in(false, false, 0x00010400));
  CHECK(newer.result == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
  CHECK_THAT(newer.log, Contains("newer version of SPIR-V"));
}

TEST_CASE("a module of nothing or of no format is refused before it is built") {
  const World world;
  const std::string input = test::kernels_stand_in();
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(input.data());
  ze_module_handle_t made = nullptr;
  const auto create = [&](const std::uint8_t* module, std::size_t size, int format, ze_module_handle_t* out) {
    auto desc = test::desc_of<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
    desc.pInputModule = module;
    desc.inputSize = size;
    desc.format = static_cast<ze_module_format_t>(format);
    return zeModuleCreate(world.context, world.devices[0], &desc, out, nullptr);
  };
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
             {create(nullptr, input.size(), 0, &made), create(bytes, input.size(), 0, nullptr)});
  CHECK(create(bytes, 0, 0, &made) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(create(bytes, input.size(), 2, &made) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
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
  std::vector<char> text(bytes, 'x');
  std::size_t fewer = bytes - 1;
  CHECK(zeModuleBuildLogGetString(log, &fewer, text.data()) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(text[0] == 'x');
  ok(zeModuleBuildLogDestroy(log));
  CHECK(zeModuleBuildLogDestroy(log) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_CASE("an argument is of its index and size") {
  const World world;
  const auto kernel = world.kernel("count");
  const auto with_shared = kernel_of(world.module(0, true), "report");
  const std::uint64_t value = 0;
  CHECK(zeKernelSetArgumentValue(kernel, 2, 4, &value) == ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX);
  each_gives(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
             {zeKernelSetArgumentValue(kernel, 0, 4, &value), zeKernelSetArgumentValue(kernel, 1, 8, &value),
              zeKernelSetArgumentValue(kernel, 1, 0, &value), zeKernelSetArgumentValue(with_shared, 2, 8, &value),
              zeKernelSetArgumentValue(with_shared, 2, 0, nullptr)});
  ok(zeKernelSetArgumentValue(kernel, 0, 8, nullptr));
}

TEST_CASE("a group is of at least one thread and at most as many as the device says") {
  const World world;
  auto with = test::desc_of<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
  ok(zeDeviceGetComputeProperties(world.devices[0], &with));
  const std::uint32_t most = with.maxTotalGroupSize;
  const auto kernel = world.kernel("faulty");
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
  const auto kernel = world.kernel("count");
  ok(test::set_argument(kernel, 0, world.words({0})));
  ok(test::set_argument(kernel, 1, 1U));
  CHECK(test::launch(world.list(0, 1), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  ok(test::launch(world.list(0, 2), kernel));
  world.context = world.another_context();
  CHECK(test::launch(world.list(), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("a kernel is refused freed memory") {
  const World world;
  const auto kernel = world.kernel("count");
  std::uint32_t* const gone = world.words({1});
  ok(zeMemFree(world.context, gone));
  ok(test::set_argument(kernel, 0, gone));
  ok(test::set_argument(kernel, 1, 1U));
  CHECK(test::launch(world.list(), kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
}

}  // namespace module_test
