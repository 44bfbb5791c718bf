// SPDX-License-Identifier: Apache-2.0
//
// Modules in the stand-in formats, and launches of their kernels.
#include <cstring>

#include "test_support.h"

namespace module_test {

using test::ok;
using test::peek;
using test::Primary;
using test::read_test_file;

namespace {

/// What loading gives, and what the compiler's log says; the module is unloaded again.
CUresult load(const std::string& image, std::string* log = nullptr) {
  char text[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};  // NOLINT: as the reference has it
  CUmodule module = nullptr;
  const CUresult result = cuModuleLoadDataEx(&module, image.c_str(), 2, options, values);
  if (log != nullptr) *log = text;
  CHECK((module != nullptr) == (result == CUDA_SUCCESS));
  if (module != nullptr) ok(cuModuleUnload(module));
  return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("a module loads from PTX and cubin and fatbin stand-ins") {
  const Primary primary;
  const char* const name = GENERATE("test_kernels.ptx", "test_kernels.cubin", "test_kernels.fatbin");
  const std::string image = read_test_file(name);
  CUmodule module = nullptr;
  ok(cuModuleLoadData(&module, image.c_str()));
  CUfunction function = nullptr;
  ok(cuModuleGetFunction(&function, module, "count"));
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  ok(test::launch(nullptr, function, counter, 5U));
  ok(cuCtxSynchronize());
  CHECK(peek(counter) == 5);
  CHECK(test::Control().live("module") == 1);
  ok(cuModuleUnload(module));
  CHECK(test::Control().live("module") == 0);
  ok(cuMemFree(counter));
}

TEST_CASE("a cubin for another architecture has no binary for the device") {
  test::set_env("CUDA_DOUBLE_SM", "80");
  const Primary primary;
  CHECK(load(read_test_file("test_kernels.cubin")) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK(load(read_test_file("test_kernels.ptx")) == CUDA_SUCCESS);
  CHECK(load(read_test_file("test_kernels.fatbin")) == CUDA_SUCCESS);  // by its PTX
}

TEST_CASE("PTX for a newer architecture or of a newer version is refused") {
  const Primary primary;
  const std::string ptx = read_test_file("test_kernels.ptx");
  std::string log;
  CHECK(load(replaced(ptx, ".version 6.0", ".version 99.0"), &log) == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  CHECK_FALSE(log.empty());
  const CUresult newer = load(replaced(ptx, "sm_52", "sm_120"), &log);
  CHECK((newer == CUDA_ERROR_NO_BINARY_FOR_GPU || newer == CUDA_ERROR_INVALID_PTX));
}

TEST_CASE("an old driver refuses the PTX of a newer compiler") {
  test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12020");
  const Primary primary;
  const std::string ptx = read_test_file("test_kernels.ptx");
  CHECK(load(replaced(ptx, ".version 6.0", ".version 9.0")) == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  CHECK(load(replaced(ptx, ".version 6.0", ".version 8.2")) == CUDA_SUCCESS);
}

TEST_CASE("what is no module is refused with a log") {
  const Primary primary;
  std::string log;
  CHECK(load(".version 6.0\n.target sm_52\n.address_size 64\n", &log) == CUDA_ERROR_INVALID_PTX);
  CHECK_THAT(log, Catch::Contains("host image"));
  CHECK(load(".version 6.0\n.target sm_52\n// anyplace-host-image: ????\n", &log) == CUDA_ERROR_INVALID_PTX);
  CHECK_FALSE(log.empty());
  const CUresult garbage = load("this is no module at all, whatever one may think of it, is it not?", &log);
  CHECK((garbage == CUDA_ERROR_INVALID_IMAGE || garbage == CUDA_ERROR_INVALID_PTX));
  CHECK(test::Control().live("module") == 0);
}

TEST_CASE("an unknown kernel is not found") {
  const Primary primary;
  const test::Kernels kernels;
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, kernels.module(), "none") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&function, kernels.module(), nullptr) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuModuleGetFunction(nullptr, kernels.module(), "count") == CUDA_ERROR_INVALID_VALUE);
  CHECK(function == nullptr);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CHECK(cuModuleGetGlobal(&address, &bytes, kernels.module(), "none") == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("the kernels of a PTX with entries are these, whatever the host image has") {
  const Primary primary;
  // As a compiler mangles a kernel without C linkage; `append` stands behind a line's end, as nvcc writes it.
  const std::string ptx =
      read_test_file("test_kernels.ptx") +
      ".visible .entry _Z5countPjj(\n)\n{ ret; }\n// .entry noted()\n.visible .entry append\n(\n)\n{ ret; }\n";
  CUmodule module = nullptr;
  ok(cuModuleLoadData(&module, ptx.c_str()));
  CUfunction function = nullptr;
  CHECK(cuModuleGetFunction(&function, module, "count") == CUDA_ERROR_NOT_FOUND);
  CHECK(cuModuleGetFunction(&function, module, "_Z5countPjj") == CUDA_ERROR_NOT_FOUND);  // the host image lacks it
  CHECK(cuModuleGetFunction(&function, module, "append") == CUDA_SUCCESS);
  ok(cuModuleUnload(module));
}

TEST_CASE("a kernel gets its arguments and the shape of its launch") {
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = test::create_stream();
  const CUdeviceptr out = test::allocate(14 * 8);
  struct Three {
    std::uint32_t values[3];
  } three{{7, 8, 9}};
  std::uint8_t one = 1;
  std::uint16_t two = 2;
  std::uint32_t four = 4;
  std::uint64_t eight = std::uint64_t{1} << 40U;
  CUdeviceptr address = out;
  void* arguments[] = {&address, &one, &two, &four, &eight, &three};
  ok(cuLaunchKernel(kernels["report"], 3, 2, 4, 16, 4, 2, 1000, stream, arguments, nullptr));
  one = 99;  // the call has copied them
  address = 0;
  ok(cuStreamSynchronize(stream));
  const std::uint64_t expected[] = {1, 2, 4, eight, 7, 8, 9, 3, 2, 4, 16, 4, 2, 1000};
  for (std::size_t i = 0; i < 14; ++i) {
    INFO("value " << i);
    CHECK(peek<std::uint64_t>(out + 8 * i) == expected[i]);
  }
}

TEST_CASE("every block of the grid runs once") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  CUdeviceptr address = counter;
  std::uint32_t step = 1;
  void* arguments[] = {&address, &step};
  ok(cuLaunchKernel(kernels["count"], 5, 7, 3, 32, 1, 1, 0, nullptr, arguments, nullptr));
  ok(cuCtxSynchronize());
  CHECK(peek(counter) == 105);
}

TEST_CASE("a launch beyond the limits of the device is refused") {
  const Primary primary;
  const test::Kernels kernels;
  const CUfunction kernel = kernels["count"];
  CUdeviceptr address = test::allocate(4);
  std::uint32_t step = 1;
  void* arguments[] = {&address, &step};
  const struct {
    unsigned grid[3], block[3], shared;
  } shapes[] = {
      {{0, 1, 1}, {1, 1, 1}, 0},     {{1, 1, 0}, {1, 1, 1}, 0},           {{1, 65536, 1}, {1, 1, 1}, 0},
      {{1, 1, 65536}, {1, 1, 1}, 0}, {{0x80000000U, 1, 1}, {1, 1, 1}, 0}, {{1, 1, 1}, {0, 1, 1}, 0},
      {{1, 1, 1}, {1025, 1, 1}, 0},  {{1, 1, 1}, {32, 33, 1}, 0},         {{1, 1, 1}, {1, 1, 65}, 0},
      {{1, 1, 1}, {1, 1, 1}, 49153},
  };
  for (const auto& [grid, block, shared] : shapes) {
    INFO(grid[0] << " " << grid[1] << " " << grid[2] << ", " << block[0] << " " << block[1] << " " << block[2]);
    CHECK(cuLaunchKernel(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, nullptr, arguments,
                         nullptr) == CUDA_ERROR_INVALID_VALUE);
  }
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  // More shared memory is to be had by opting in, up to a limit of its own.
  ok(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 100000, nullptr, arguments, nullptr) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(cuCtxSynchronize() == CUDA_SUCCESS);
}

TEST_CASE("a fault in a kernel stays with its context") {
  const Primary second(1);
  const CUstream there = test::create_stream();
  const Primary first(0);
  const test::Kernels kernels;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  const CUdeviceptr word = test::allocate(4);
  ok(cuMemsetD32(word, 1, 1));
  ok(cuCtxSynchronize());
  const CUfunction count = kernels["count"];
  ok(test::launch(stream, kernels["faulty"], 0U));
  const CUresult queued = cuMemsetD32Async(word, 2, 1, stream);  // the fault may have come first
  CHECK((queued == CUDA_SUCCESS || queued == CUDA_ERROR_LAUNCH_FAILED));
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(peek(word) == 1);  // nothing runs behind it
  CUdeviceptr address = 0;
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuEventQuery(event) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuMemAlloc(&address, 16) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(test::launch(stream, count, word, 1U) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuStreamDestroy(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(cuMemFree(word) == CUDA_ERROR_LAUNCH_FAILED);
  ok(cuCtxPushCurrent(second));
  CHECK(cuStreamSynchronize(there) == CUDA_SUCCESS);  // the other device goes on
}

TEST_CASE("work behind a fault vanishes and callbacks are told") {
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(4);
  ok(cuMemsetD32(word, 1, 1));
  ok(cuCtxSynchronize());
  const CUfunction faulty = kernels["faulty"];
  std::promise<CUresult> told;
  bool called = false;
  std::function<void()> body = [&called] { called = true; };
  test::Gate gate;
  gate.block(stream);
  ok(test::launch(stream, faulty, 0U));
  ok(cuMemsetD32Async(word, 2, 1, stream));
  test::launch(stream, body);
  const CUstreamCallback callback = [](CUstream, CUresult status, void* user) {
    static_cast<std::promise<CUresult>*>(user)->set_value(status);
  };
  ok(cuStreamAddCallback(stream, callback, &told, 0));
  gate.open();
  CHECK(told.get_future().get() == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(peek(word) == 1);
  CHECK_FALSE(called);
}

TEST_CASE("a module that is unloaded while its kernel is queued is misuse and the kernel fails") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  ok(cuCtxSynchronize());
  CUmodule module = nullptr;
  ok(cuModuleLoadData(&module, read_test_file("test_kernels.ptx").c_str()));
  CUfunction function = nullptr;
  ok(cuModuleGetFunction(&function, module, "count"));
  ok(test::launch(stream, function, counter, 1U));
  ok(cuStreamSynchronize(stream));
  test::Gate gate;
  gate.block(stream);
  ok(test::launch(stream, function, counter, 1U));
  CHECK(control.misuses() == 0);
  ok(cuModuleUnload(module));
  CHECK(control.misuses() == 1);
  CHECK(test::launch(stream, function, counter, 1U) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
  gate.open();
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(peek(counter) == 1);
}

TEST_CASE("a module is unloaded in its own context") {
  const Primary second(1);
  CUmodule module = nullptr;
  ok(cuModuleLoadData(&module, read_test_file("test_kernels.ptx").c_str()));
  {
    const Primary first(0);
    CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_CONTEXT);
  }
  ok(cuModuleUnload(module));
}

TEST_CASE("a variable of a module is memory of the device") {
  const Primary primary;
  const test::Kernels kernels;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  ok(cuModuleGetGlobal(&address, &bytes, kernels.module(), "table"));
  CHECK(bytes == 64);
  std::uint32_t values[16] = {};
  ok(cuMemcpyDtoH(values, address, 64));
  CHECK((values[0] == 11 && values[15] == 0));
  ok(cuMemsetD32(address, 4, 16));
  ok(cuCtxSynchronize());
  CHECK(peek(address + 60) == 4);
  CHECK(cuMemsetD32(address, 4, 17) == CUDA_ERROR_INVALID_VALUE);
  CHECK(test::Control().live("memory") == 0);
}

TEST_CASE("a kernel that is given an address of freed memory faults") {
  const Primary primary;
  const test::Control control;
  const test::Kernels kernels;
  const CUdeviceptr gone = test::allocate(4);
  ok(cuMemFree(gone));
  ok(test::launch(nullptr, kernels["count"], gone, 1U));
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_THAT(control.misuse_text(), Catch::Contains("a kernel was given the address of freed memory"));
}

TEST_CASE("a kernel that is given an address of another device needs access to it") {
  const bool enabled = GENERATE(true, false);
  const Primary second(1);
  const CUdeviceptr there = test::allocate(4);
  ok(cuMemsetD32(there, 1, 1));
  ok(cuCtxSynchronize());
  const Primary first(0);
  const test::Kernels kernels;
  if (enabled) ok(cuCtxEnablePeerAccess(second, 0));
  ok(test::launch(nullptr, kernels["count"], there, 1U));
  CHECK(cuCtxSynchronize() == (enabled ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS));
  CHECK(peek(there) == (enabled ? 2U : 1U));
}

TEST_CASE("arguments may come in one buffer") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  struct {
    CUdeviceptr counter;
    std::uint32_t step;
  } buffer{counter, 6};
  std::size_t bytes = sizeof(buffer);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  ok(cuLaunchKernel(kernels["count"], 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  ok(cuCtxSynchronize());
  CHECK(peek(counter) == 6);
  bytes = 8;  // too few
  CHECK(cuLaunchKernel(kernels["count"], 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra) == CUDA_ERROR_INVALID_VALUE);
  void* arguments[] = {&buffer.counter, &buffer.step};
  CHECK(cuLaunchKernel(kernels["count"], 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, extra) == CUDA_ERROR_INVALID_VALUE);
}

#if CUDA_VERSION >= 12040
TEST_CASE("a kernel tells its parameters and name") {
  const Primary primary;
  const test::Kernels kernels;
  const std::size_t sizes[] = {8, 1, 2, 4, 8, 12};
  const std::size_t offsets[] = {0, 8, 10, 12, 16, 24};
  std::size_t offset = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    ok(cuFuncGetParamInfo(kernels["report"], i, &offset, &size));
    CHECK((size == sizes[i] && offset == offsets[i]));
  }
  CHECK(cuFuncGetParamInfo(kernels["report"], 6, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  const char* name = nullptr;
  ok(cuFuncGetName(&name, kernels["report"]));
  CHECK(std::strcmp(name, "report") == 0);
}
#endif

TEST_CASE("a kernel tells its attributes") {
  const Primary primary;
  const test::Kernels kernels;
  int value = 0;
  ok(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernels["count"]));
  CHECK(value == 1024);
  CHECK(cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(31), kernels["count"]) ==
        CUDA_ERROR_INVALID_VALUE);
  int blocks = 0;
  ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels["count"], 256, 0));
  CHECK(blocks > 0);
}

TEST_CASE("an extended launch is a launch") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 0, 1));
  CUdeviceptr address = counter;
  std::uint32_t step = 2;
  void* arguments[] = {&address, &step};
  CUlaunchConfig config{};
  config.gridDimX = 3;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  ok(cuLaunchKernelEx(&config, kernels["count"], arguments, nullptr));
  ok(cuCtxSynchronize());
  CHECK(peek(counter) == 6);
  CHECK(cuLaunchKernelEx(nullptr, kernels["count"], arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

}  // namespace module_test
