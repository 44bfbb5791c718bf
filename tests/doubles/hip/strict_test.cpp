// SPDX-License-Identifier: Apache-2.0
//
// Handles, memory, copies, modules and launches that aren't what they should be, and the code that each is refused
// with.
#include <cstring>

#include "stand_in.h"
#include "test_support.h"

namespace strict_test {

using Catch::Contains;
using test::Control;
using test::Gate;
using test::ok;

TEST_CASE("a destroyed or foreign handle is none") {
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  ok(hipStreamDestroy(stream));
  ok(hipEventDestroy(event));
  const auto as_stream = reinterpret_cast<hipStream_t>(event);
  const auto as_event = reinterpret_cast<hipEvent_t>(test::create_stream());
  CHECK(hipStreamQuery(stream) == hipErrorContextIsDestroyed);
  CHECK(hipStreamQuery(as_stream) == hipErrorContextIsDestroyed);
  CHECK(hipEventQuery(event) == hipErrorInvalidHandle);
  CHECK(hipEventQuery(as_event) == hipErrorInvalidHandle);
  CHECK(hipEventQuery(nullptr) == hipErrorInvalidHandle);
  CHECK(hipStreamWaitEvent(nullptr, event, 0) == hipErrorInvalidHandle);
  CHECK(hipStreamDestroy(nullptr) == hipErrorInvalidHandle);
  const Control control;
  CHECK(control.misuses() == 0);
  CHECK(hipStreamDestroy(stream) == hipErrorContextIsDestroyed);
  CHECK(hipEventDestroy(event) == hipErrorInvalidHandle);
  CHECK(control.misuses() == 2);
}

TEST_CASE("flags that aren't defined are refused") {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  void* memory = nullptr;
  CHECK(hipInit(1) == hipErrorInvalidValue);
  CHECK(hipStreamCreateWithFlags(&stream, 2) == hipErrorInvalidValue);
  CHECK(hipStreamCreateWithFlags(nullptr, 0) == hipErrorInvalidValue);
  CHECK(hipEventCreateWithFlags(&event, 0x80) == hipErrorInvalidValue);
  CHECK(hipEventCreateWithFlags(&event, hipEventInterprocess) == hipErrorInvalidValue);  // with timing
  CHECK(hipHostMalloc(&memory, 16, 0x100) == hipErrorInvalidValue);
  CHECK(hipExtMallocWithFlags(&memory, 16, hipMallocSignalMemory) == hipErrorInvalidValue);  // of 8 bytes alone
  CHECK(hipMallocManaged(&memory, 16, 0) == hipErrorInvalidValue);
  CHECK((stream == nullptr && event == nullptr && memory == nullptr));
}

TEST_CASE("devices that aren't there are refused and the current one is a thread's own") {
  int device = -1;
  ok(hipGetDevice(&device));
  CHECK(device == 0);
  CHECK(hipSetDevice(2) == hipErrorInvalidDevice);
  CHECK(hipSetDevice(-1) == hipErrorInvalidDevice);
  ok(hipSetDevice(1));
  std::async(std::launch::async, [] {
    int other = -1;
    CHECK(hipGetDevice(&other) == hipSuccess);
    CHECK(other == 0);
  }).get();
  ok(hipGetDevice(&device));
  CHECK(device == 1);
}

TEST_CASE("only what was allocated is freed and once") {
  std::uint32_t* const memory = test::words({1, 2});
  void* pinned = nullptr;
  ok(hipHostMalloc(&pinned, 16, 0));
  int own = 0;
  const Control control;
  CHECK(hipFree(nullptr) == hipSuccess);
  CHECK(control.misuses() == 0);
  CHECK(hipFree(&own) == hipErrorInvalidValue);
  CHECK(hipFree(memory + 1) == hipErrorInvalidValue);
  CHECK(hipFree(pinned) == hipErrorInvalidValue);
  CHECK(hipHostFree(memory) == hipErrorInvalidValue);
  CHECK(control.misuses() == 4);
  ok(hipFree(memory));
  ok(hipHostFree(pinned));
  CHECK(hipFree(memory) == hipErrorInvalidValue);
  CHECK(hipHostFree(pinned) == hipErrorInvalidValue);
  CHECK(control.misuses() == 6);
}

TEST_CASE("memory is used up and is there again when it was given back") {
  test::set_env("HIP_DOUBLE_MEMORY", "1M");
  void* all = nullptr;
  void* more = nullptr;
  ok(hipMalloc(&all, 1U << 20U));
  CHECK(hipMalloc(&more, 1) == hipErrorOutOfMemory);
  std::size_t free = 1;
  std::size_t total = 0;
  ok(hipMemGetInfo(&free, &total));
  CHECK((free == 0 && total == 1U << 20U));
  ok(hipFree(all));
  ok(hipMalloc(&all, 1U << 20U));
}

TEST_CASE("a copy of what isn't there or of another kind is refused") {
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const memory = test::words({1, 2, 3, 4});
  std::uint32_t* const other = test::words({0, 0, 0, 0});
  std::uint32_t own[4] = {};
  const auto copy = [&](void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
    return hipMemcpyAsync(to, from, bytes, kind, stream);
  };
  CHECK(copy(other, memory, 17, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  CHECK(copy(other, own, 16, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  CHECK(copy(other, memory, 16, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(copy(other, memory, 16, static_cast<hipMemcpyKind>(7)) == hipErrorInvalidMemcpyDirection);
  CHECK(copy(nullptr, memory, 16, hipMemcpyDefault) == hipErrorInvalidValue);
  CHECK(hipMemcpy2DAsync(other, 4, memory, 8, 8, 2, hipMemcpyDeviceToDevice, stream) == hipErrorInvalidPitchValue);
  CHECK(hipMemsetD32Async(reinterpret_cast<char*>(memory) + 2, 0, 1, stream) == hipErrorInvalidValue);  // unaligned
  ok(copy(other, memory, 0, hipMemcpyDeviceToDevice));
  ok(copy(own, memory, 16, hipMemcpyDeviceToHost));
  ok(hipStreamSynchronize(stream));
  CHECK(own[3] == 4);
  const Control control;
  CHECK(control.misuses() == 0);
  ok(copy(memory, memory + 1, 8, hipMemcpyDeviceToDevice));  // overlaps: noted
  CHECK(control.misuses() == 1);
  ok(hipFree(memory));
  CHECK(copy(other, memory, 4, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  CHECK(control.misuses() == 2);
}

TEST_CASE("memory of another device is reached when that was enabled") {
  std::uint32_t* const memory = test::words({1});
  ok(hipSetDevice(1));
  CHECK(test::fill(memory, 2, 1, nullptr) == hipErrorInvalidValue);
  CHECK(hipDeviceEnablePeerAccess(1, 0) == hipErrorInvalidDevice);
  CHECK(hipDeviceDisablePeerAccess(0) == hipErrorPeerAccessNotEnabled);
  ok(hipDeviceEnablePeerAccess(0, 0));
  CHECK(hipDeviceEnablePeerAccess(0, 0) == hipErrorPeerAccessAlreadyEnabled);
  ok(test::fill(memory, 2, 1, nullptr));
  ok(hipDeviceSynchronize());
  CHECK(*memory == 2);
}

TEST_CASE("registered memory is registered once") {
  static char bytes[64];
  ok(hipHostRegister(bytes, 64, 0));
  CHECK(hipHostRegister(bytes + 8, 8, 0) == hipErrorHostMemoryAlreadyRegistered);
  CHECK(hipHostUnregister(bytes + 8) == hipErrorHostMemoryNotRegistered);
  ok(hipHostUnregister(bytes));
  CHECK(hipHostUnregister(bytes) == hipErrorHostMemoryNotRegistered);
}

TEST_CASE("an image is for the device's architecture and holds kernels for the host") {
  hipModule_t module = nullptr;
  const auto load = [&module](const std::string& image) { return hipModuleLoadData(&module, image.data()); };
  CHECK(load(test::code_object("gfx1100")) == hipErrorNoBinaryForGpu);
  CHECK(load(test::kernels_image()) == hipErrorInvalidImage);
  CHECK(load("no image, and long enough to be looked at in all that one has to have at its beginning") ==
        hipErrorInvalidImage);
  CHECK(hipModuleLoadData(&module, nullptr) == hipErrorInvalidValue);
  CHECK(module == nullptr);
  ok(load(test::code_object()));
  using anyplace::doubles::hip::make_bundle;
  ok(load(make_bundle({{"gfx1100", test::code_object("gfx1100")}, {"gfx90a", test::code_object()}})));
  CHECK(load(make_bundle({{"gfx1100", test::code_object("gfx1100")}})) == hipErrorNoBinaryForGpu);
  hipFunction_t function = nullptr;
  CHECK(hipModuleGetFunction(&function, module, "no_such_kernel") == hipErrorNotFound);
  ok(hipModuleGetFunction(&function, module, "count"));
  ok(hipModuleUnload(module));
  CHECK(hipModuleGetFunction(&function, module, "count") == hipErrorInvalidHandle);
  const Control control;
  CHECK(control.misuses() == 0);
  CHECK(hipModuleUnload(module) == hipErrorInvalidHandle);
  CHECK(control.misuses() == 1);
}

TEST_CASE("a launch gets its arguments and a shape that the device can do") {
  const hipFunction_t report = test::kernel("report");
  std::uint32_t* const out = test::words(std::vector<std::uint32_t>(28));
  struct {
    std::uint32_t values[3];
  } three = {{7, 8, 9}};
  std::uint8_t a = 1;
  std::uint16_t b = 2;
  std::uint32_t c = 3;
  std::uint64_t d = 4;
  auto* address = out;
  void* arguments[] = {&address, &a, &b, &c, &d, &three};
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared, void** values) {
    return hipModuleLaunchKernel(report, grid, 3, 4, block, 2, 1, shared, nullptr, values, nullptr);
  };
  CHECK(launch(0, 1, 0, arguments) == hipErrorInvalidValue);
  CHECK(launch(1, 0, 0, arguments) == hipErrorInvalidValue);
  CHECK(launch(1, 1024, 0, arguments) == hipErrorInvalidConfiguration);
  CHECK(launch(1, 1, 64 * 1024 + 1, arguments) == hipErrorInvalidValue);
  CHECK(launch(1, 1, 0, nullptr) == hipErrorInvalidValue);
  arguments[3] = nullptr;
  CHECK(launch(1, 1, 0, arguments) == hipErrorInvalidValue);
  arguments[3] = &c;
  ok(launch(2, 5, 4096, arguments));
  c = 99;  // its values were copied
  ok(hipDeviceSynchronize());
  std::uint64_t said[14];
  std::memcpy(said, out, sizeof(said));
  const std::uint64_t expected[14] = {1, 2, 3, 4, 7, 8, 9, 2, 3, 4, 5, 2, 1, 4096};
  for (int i = 0; i < 14; ++i) {
    INFO(i);
    CHECK(said[i] == expected[i]);
  }
}

TEST_CASE("a module unloaded ahead of its kernel is noted and the kernel fails") {
  hipModule_t module = nullptr;
  hipFunction_t count = nullptr;
  ok(hipModuleLoadData(&module, test::code_object().data()));
  ok(hipModuleGetFunction(&count, module, "count"));
  const hipStream_t stream = test::create_stream();
  Gate gate(stream);
  std::uint32_t* const word = test::words({1});
  ok(test::launch(stream, count, word, 1U));
  ok(hipModuleUnload(module));
  CHECK(Control().misuses() == 1);
  gate.open();
  CHECK(hipStreamSynchronize(stream) == hipErrorLaunchFailure);
  CHECK(*word == 1);
}

TEST_CASE("a kernel on freed memory loses the device") {
  const hipFunction_t count = test::kernel("count");
  std::uint32_t* const word = test::words({1});
  ok(hipFree(word));
  ok(test::launch(nullptr, count, word, 1U));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
  CHECK_THAT(Control().misuse_text(), Contains("freed memory"));
}

TEST_CASE("mappings that adjoin are filled as one and each must be there when it runs") {
  constexpr std::size_t piece = std::size_t{2} << 20U;
  anyplace::doubles::hip::AllocationProperties asked{};
  asked.type = hipMemAllocationTypePinned;
  asked.location.type = hipMemLocationTypeDevice;
  void* range = nullptr;
  ok(hipMemAddressReserve(&range, 2 * piece, 0, nullptr, 0));
  char* const second = static_cast<char*>(range) + piece;
  for (char* const at : {static_cast<char*>(range), second}) {
    hipMemGenericAllocationHandle_t handle = nullptr;
    ok(hipMemCreate(&handle, piece, reinterpret_cast<const hipMemAllocationProp*>(&asked), 0));
    ok(hipMemMap(at, piece, 0, handle, 0));
  }
  hipMemAccessDesc access{};
  access.location = asked.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  ok(hipMemSetAccess(range, 2 * piece, &access, 1));
  const hipStream_t stream = test::create_stream();
  ok(test::fill(static_cast<std::uint32_t*>(range), 4, 2 * piece / 4, stream));
  ok(hipStreamSynchronize(stream));
  Gate gate(stream);
  ok(test::fill(static_cast<std::uint32_t*>(range), 5, 2 * piece / 4, stream));
  ok(hipMemUnmap(second, piece));
  gate.open();
  CHECK(hipStreamSynchronize(stream) == hipErrorIllegalAddress);
  CHECK(*static_cast<std::uint32_t*>(range) == 4);
  CHECK(Control().misuses() == 1);
}

}  // namespace strict_test
