// SPDX-License-Identifier: Apache-2.0
//
// Which modules and launches are refused, and which kernels are faults that stay.
#include "test_support.h"

namespace module_test {

using test::each_gives;
using test::ok;
using test::peek;
using test::Primary;
using test::read_test_file;

namespace {

/// What loading gives; there is a log where it fails. The module is unloaded again.
CUresult load(const std::string& image) {
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log))};  // NOLINT: as the reference has it
  CUmodule module = nullptr;
  const CUresult result = cuModuleLoadDataEx(&module, image.c_str(), 2, options, values);
  CHECK((module != nullptr) == (result == CUDA_SUCCESS));
  if (result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) CHECK(log[0] != '\0');
  if (module != nullptr) ok(cuModuleUnload(module));
  return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

}  // namespace

TEST_CASE("an image is for the device's architecture and for the version of the driver") {
  test::set_env("CUDA_DOUBLE_SM", "80");
  test::set_env("CUDA_DOUBLE_DRIVER_VERSION", "12020");
  const Primary primary;
  const std::string ptx = read_test_file("test_kernels.ptx");
  each_gives(CUDA_SUCCESS, {load(ptx), load(replaced(ptx, ".version 6.0", ".version 8.2")),
                            load(read_test_file("test_kernels.fatbin"))});  // by its PTX
  each_gives(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, {load(replaced(ptx, ".version 6.0", ".version 9.0")),
                                                  load(replaced(ptx, ".version 6.0", ".version 99.0"))});
  CHECK(load(read_test_file("test_kernels.cubin")) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  const CUresult newer = load(replaced(ptx, "sm_52", "sm_120"));
  CHECK((newer == CUDA_ERROR_NO_BINARY_FOR_GPU || newer == CUDA_ERROR_INVALID_PTX));
  each_gives(CUDA_ERROR_INVALID_PTX, {load(".version 6.0\n.target sm_52\n.address_size 64\n"),
                                      load(".version 6.0\n.target sm_52\n// anyplace-host-image: ????\n")});
  const CUresult garbage = load("this is no module at all, whatever one may think of it, is it not?");
  CHECK((garbage == CUDA_ERROR_INVALID_IMAGE || garbage == CUDA_ERROR_INVALID_PTX));
  CHECK(test::Control().live("module") == 0);
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
  each_gives(CUDA_ERROR_NOT_FOUND, {cuModuleGetFunction(&function, module, "count"),
                                    cuModuleGetFunction(&function, module, "_Z5countPjj")});  // no host's
  CHECK(cuModuleGetFunction(&function, module, "append") == CUDA_SUCCESS);
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

TEST_CASE("a fault in a kernel stays with its context, and what is queued behind it vanishes") {
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
  bool called = false;
  std::function<void()> body = [&called] { called = true; };
  test::Gate gate;
  gate.block(stream);
  ok(test::launch(stream, kernels["faulty"], 0U));
  ok(cuMemsetD32Async(word, 2, 1, stream));
  test::launch(stream, body);
  gate.open();
  CUdeviceptr address = 0;
  each_gives(CUDA_ERROR_LAUNCH_FAILED,
             {cuStreamSynchronize(stream), cuStreamSynchronize(stream), cuStreamQuery(stream), cuEventQuery(event),
              cuMemAlloc(&address, 16), test::launch(stream, count, word, 1U), cuStreamDestroy(stream)});
  CHECK((peek(word) == 1 && !called));
  CHECK(cuMemFree(word) == CUDA_ERROR_LAUNCH_FAILED);
  ok(cuCtxPushCurrent(second));
  CHECK(cuStreamSynchronize(there) == CUDA_SUCCESS);  // the other device goes on
}

TEST_CASE("a module is unloaded once, in its own context, and not while its kernel is queued") {
  const Primary second(1);
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  const CUdeviceptr counter = test::allocate(4);
  ok(cuMemsetD32(counter, 1, 1));
  ok(cuCtxSynchronize());
  CUmodule module = nullptr;
  ok(cuModuleLoadData(&module, read_test_file("test_kernels.ptx").c_str()));
  CUfunction function = nullptr;
  ok(cuModuleGetFunction(&function, module, "count"));
  ok(cuCtxPushCurrent(second));
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_CONTEXT);
  CUcontext popped = nullptr;
  ok(cuCtxPopCurrent(&popped));
  test::Gate gate;
  gate.block(stream);
  ok(test::launch(stream, function, counter, 1U));
  CHECK(control.misuses() == 0);
  ok(cuModuleUnload(module));
  CHECK(control.misuses() == 1);
  each_gives(CUDA_ERROR_INVALID_HANDLE, {test::launch(stream, function, counter, 1U), cuModuleUnload(module)});
  gate.open();
  CHECK(cuStreamSynchronize(stream) == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(peek(counter) == 1);
}

TEST_CASE("a kernel that is given an address of freed memory faults") {
  const Primary primary;
  const test::Kernels kernels;
  const CUdeviceptr gone = test::allocate(4);
  ok(cuMemFree(gone));
  ok(test::launch(nullptr, kernels["count"], gone, 1U));
  CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK_THAT(test::Control().misuse_text(), Catch::Contains("a kernel was given the address of freed memory"));
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

}  // namespace module_test
