// SPDX-License-Identifier: Apache-2.0
//
// Handles, memory, copies, modules, launches and graphs that aren't what they should be, and the code that each is
// refused with. What HIP's double shares with CUDA's (engine/runtime) is tested there.
#include <thread>
#include "stand_in.h"
#include "test_support.h"

namespace strict_test {

using test::Control;
using test::each_gives;
using test::Gate;
using test::ok;

TEST_CASE("a destroyed or foreign handle is none") {
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  const auto as_stream = reinterpret_cast<hipStream_t>(event);
  const auto as_event = reinterpret_cast<hipEvent_t>(test::create_stream());
  ok(hipStreamDestroy(stream));
  ok(hipEventDestroy(event));
  each_gives(hipErrorContextIsDestroyed, {hipStreamQuery(stream), hipStreamQuery(as_stream)});
  each_gives(hipErrorInvalidHandle, {hipEventQuery(event), hipEventQuery(as_event), hipEventQuery(nullptr),
                                     hipStreamWaitEvent(nullptr, event, 0), hipStreamDestroy(nullptr)});
  CHECK(Control().misuses() == 0);
  CHECK(hipStreamDestroy(stream) == hipErrorContextIsDestroyed);
  CHECK(hipEventDestroy(event) == hipErrorInvalidHandle);
  CHECK(Control().misuses() == 2);
}

TEST_CASE("flags and devices that aren't defined are refused") {
  hipStream_t stream = nullptr;
  hipEvent_t event = nullptr;
  void* memory = nullptr;
  each_gives(hipErrorInvalidValue,
             {hipInit(1), hipStreamCreateWithFlags(&stream, 2), hipStreamCreateWithFlags(nullptr, 0),
              hipEventCreateWithFlags(&event, 0x80), hipEventCreateWithFlags(&event, hipEventInterprocess),  // timed
              hipHostMalloc(&memory, 16, 0x100), hipMallocManaged(&memory, 16, 0),
              hipExtMallocWithFlags(&memory, 16, hipMallocSignalMemory)});  // of 8 bytes alone
  CHECK((stream == nullptr && event == nullptr && memory == nullptr));
  each_gives(hipErrorInvalidDevice, {hipSetDevice(2), hipSetDevice(-1)});
  ok(hipSetDevice(1));
  int other = -1;
  std::thread([&other] { static_cast<void>(hipGetDevice(&other)); }).join();
  CHECK(other == 0);  // the current one is the thread's own
}

TEST_CASE("only what was allocated is freed and once") {
  std::uint32_t* const memory = test::words({1, 2});
  void* pinned = nullptr;
  ok(hipHostMalloc(&pinned, 16, 0));
  int own = 0;
  ok(hipFree(nullptr));
  CHECK(Control().misuses() == 0);
  each_gives(hipErrorInvalidValue, {hipFree(&own), hipFree(memory + 1), hipFree(pinned), hipHostFree(memory)});
  CHECK(Control().misuses() == 4);
  ok(hipFree(memory));
  ok(hipHostFree(pinned));
  each_gives(hipErrorInvalidValue, {hipFree(memory), hipHostFree(pinned)});
  CHECK(Control().misuses() == 6);
}

TEST_CASE("a copy of what isn't there or of another kind is refused") {
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const memory = test::words({1, 2, 3, 4});
  std::uint32_t* const other = test::words({0, 0, 0, 0});
  std::uint32_t own[4] = {};
  const auto copy = [&](void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
    return hipMemcpyAsync(to, from, bytes, kind, stream);
  };
  each_gives(hipErrorInvalidValue,
             {copy(other, memory, 17, hipMemcpyDeviceToDevice), copy(other, own, 16, hipMemcpyDeviceToDevice),
              copy(other, memory, 16, hipMemcpyHostToDevice), copy(nullptr, memory, 16, hipMemcpyDefault),
              hipMemsetD32Async(reinterpret_cast<char*>(memory) + 2, 0, 1, stream)});  // unaligned
  CHECK(copy(other, memory, 16, static_cast<hipMemcpyKind>(7)) == hipErrorInvalidMemcpyDirection);
  CHECK(hipMemcpy2DAsync(other, 4, memory, 8, 8, 2, hipMemcpyDeviceToDevice, stream) == hipErrorInvalidPitchValue);
  CHECK(Control().misuses() == 0);
  ok(copy(memory, memory + 1, 8, hipMemcpyDeviceToDevice));  // overlaps: noted
  CHECK(Control().misuses() == 1);
  ok(hipFree(memory));
  CHECK(copy(other, memory, 4, hipMemcpyDeviceToDevice) == hipErrorInvalidValue);
  CHECK(Control().misuses() == 2);
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
}

TEST_CASE("an image is for the device's architecture and holds kernels for the host") {
  hipModule_t module = nullptr;
  const auto load = [&module](const std::string& image) { return hipModuleLoadData(&module, image.data()); };
  using anyplace::doubles::hip::make_bundle;
  each_gives(hipErrorNoBinaryForGpu,
             {load(test::code_object("gfx1100")), load(make_bundle({{"gfx1100", test::code_object("gfx1100")}}))});
  each_gives(hipErrorInvalidImage,
             {load(test::kernels_image()),
              load("no image, and long enough to be looked at in all that one has to have at its beginning")});
  CHECK(hipModuleLoadData(&module, nullptr) == hipErrorInvalidValue);
  CHECK(module == nullptr);
  ok(load(make_bundle({{"gfx1100", test::code_object("gfx1100")}, {"gfx90a", test::code_object()}})));
  hipFunction_t function = nullptr;
  CHECK(hipModuleGetFunction(&function, module, "no_such_kernel") == hipErrorNotFound);
  ok(hipModuleUnload(module));
  CHECK(hipModuleGetFunction(&function, module, "count") == hipErrorInvalidHandle);
  CHECK(Control().misuses() == 0);
  CHECK(hipModuleUnload(module) == hipErrorInvalidHandle);
  CHECK(Control().misuses() == 1);
}

TEST_CASE("a launch is of a shape that the device can do, with all its arguments") {
  const hipFunction_t count = test::kernel("count");
  auto* counter = test::words({0});
  std::uint32_t step = 1;
  void* arguments[] = {&counter, &step};
  void* fewer[] = {&counter, nullptr};
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared, void** values) {
    return hipModuleLaunchKernel(count, grid, 3, 4, block, 2, 1, shared, nullptr, values, nullptr);
  };
  CHECK(launch(1, 1024, 0, arguments) == hipErrorInvalidConfiguration);
  each_gives(hipErrorInvalidValue,
             {launch(0, 1, 0, arguments), launch(1, 0, 0, arguments), launch(1, 1, 64 * 1024 + 1, arguments),
              launch(1, 1, 0, nullptr), launch(1, 1, 0, fewer)});
  ok(hipDeviceSynchronize());
  CHECK(*counter == 0);
}

TEST_CASE("events that were never recorded, aren't done or not timed have no time between them") {
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  const hipEvent_t later = test::create_event();
  const hipEvent_t untimed = test::create_event(hipEventDisableTiming);
  float milliseconds = -1;
  CHECK(hipEventElapsedTime(&milliseconds, event, later) == hipErrorInvalidHandle);
  ok(hipEventRecord(event, stream));
  Gate gate(stream);
  ok(hipEventRecord(later, stream));
  ok(hipEventRecord(untimed, stream));
  CHECK(hipEventElapsedTime(&milliseconds, event, later) == hipErrorNotReady);
  gate.open();
  ok(hipEventSynchronize(untimed));
  CHECK(hipEventElapsedTime(&milliseconds, event, untimed) == hipErrorInvalidHandle);
  CHECK(milliseconds == -1);
}

TEST_CASE("a stream and memory are given back behind the work that uses them") {
  const hipStream_t stream = test::create_stream();
  std::uint32_t* const word = test::words({1});
  std::uint32_t* const kept = test::words({1});
  for (std::uint32_t i = 0; i < 50; ++i) ok(test::fill(word, i, 1, stream));
  ok(test::fill(kept, 2, 1, stream));
  ok(hipFree(word));  // waits
  CHECK(*kept == 2);
  ok(test::fill(kept, 3, 1, stream));
  ok(hipStreamDestroy(stream));  // waits
  CHECK(*kept == 3);
  CHECK(Control().misuses() == 0);
}

TEST_CASE("a wait on a value is for memory for signals alone, and a call of HIP not for host functions") {
  const hipStream_t stream = test::create_stream();
  CHECK(hipStreamWaitValue64(stream, test::words({1, 1}), 1, hipStreamWaitValueGte, ~0ULL) == hipErrorInvalidValue);
  CHECK(Control().misuses() == 0);
  hipError_t inside = hipSuccess;
  std::function<void()> body = [&] { inside = hipStreamQuery(stream); };
  ok(test::call_back(stream, body));
  ok(hipStreamSynchronize(stream));
  CHECK(inside == hipErrorNotSupported);
  CHECK(Control().misuses() == 1);
}

// -- Calls that are made to fail, and the thread's last error.

TEST_CASE("what gives something back does so even where it is made to fail") {
  std::uint32_t* const memory = test::words({1});
  const hipStream_t stream = test::create_stream();
  const hipEvent_t event = test::create_event();
  for (const char* entry : {"hipFree", "hipStreamDestroy", "hipEventDestroy"})
    REQUIRE(Control().fail_nth(entry, 1, hipErrorUnknown));
  each_gives(hipErrorUnknown, {hipFree(memory), hipStreamDestroy(stream), hipEventDestroy(event)});
  CHECK(Control().live() == 0);
  CHECK(Control().misuses() == 0);
}

TEST_CASE("the device that is lost by a sticky code is the one that the call is about") {
  test::set_env("HIP_DOUBLE_FAIL", "hipMemGetAllocationGranularity:1:700");
  anyplace::doubles::hip::AllocationProperties properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = 1;
  std::size_t bytes = 0;
  CHECK(hipMemGetAllocationGranularity(&bytes, reinterpret_cast<const hipMemAllocationProp*>(&properties),
                                       hipMemAllocationGranularityMinimum) == hipErrorIllegalAddress);
  ok(hipDeviceSynchronize());
  ok(hipSetDevice(1));
  CHECK(hipDeviceSynchronize() == hipErrorIllegalAddress);
}

TEST_CASE("the last error is what the last call returned up to HIP 6 and the last error from 7 on") {
  const test::Ended seven = test::in_child([] {
    test::set_env("HIP_DOUBLE_VERSION", "70051831");
    const bool kept = hipSetDevice(9) != hipSuccess && hipSetDevice(0) == hipSuccess;
    return kept && hipGetLastError() == hipErrorInvalidDevice && hipGetLastError() == hipSuccess ? 7 : 1;
  });
  CHECK(seven.status == 7);
  CHECK(hipSetDevice(9) == hipErrorInvalidDevice);
  CHECK(hipPeekAtLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipSuccess);
  CHECK(hipSetDevice(9) == hipErrorInvalidDevice);
  ok(hipSetDevice(0));
  CHECK(hipGetLastError() == hipSuccess);
}

// -- Graphs.

namespace {

hipKernelNodeParams count_node(hipFunction_t function, void** values, dim3 block = dim3{1, 1, 1}) {
  hipKernelNodeParams asked{};
  asked.func = function;
  asked.gridDim = dim3{1, 1, 1};
  asked.blockDim = block;
  asked.kernelParams = values;
  return asked;
}

}  // namespace

TEST_CASE("circles, other graphs' nodes, other shapes and what is destroyed are refused") {
  constexpr auto update_failure = static_cast<hipError_t>(910);  // which older headers lack
  hipGraph_t graph = nullptr, other = nullptr;
  hipGraphNode_t first = nullptr, second = nullptr, foreign = nullptr, node = nullptr;
  ok(hipGraphCreate(&graph, 0));
  ok(hipGraphCreate(&other, 0));
  ok(hipGraphAddEmptyNode(&first, graph, nullptr, 0));
  ok(hipGraphAddEmptyNode(&second, graph, &first, 1));
  ok(hipGraphAddEmptyNode(&foreign, other, nullptr, 0));
  CHECK(hipGraphAddEmptyNode(&node, graph, &foreign, 1) == hipErrorInvalidValue);
  CHECK(Control().misuses() == 1);
  hipGraphExec_t executable = nullptr;
  ok(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  hipGraphExecUpdateResult why{};
  CHECK(hipGraphExecUpdate(executable, other, &node, &why) == update_failure);
  CHECK(why == hipGraphExecUpdateErrorTopologyChanged);
  ok(hipGraphExecDestroy(executable));
  each_gives(hipErrorInvalidValue, {hipGraphLaunch(executable, nullptr), hipGraphExecDestroy(executable)});
  CHECK(Control().misuses() == 3);
  ok(hipGraphAddDependencies(graph, &second, &first, 1));
  CHECK(hipGraphInstantiate(&executable, graph, &node, nullptr, 0) == hipErrorInvalidValue);
}

TEST_CASE("a node refuses what is no kernel and what a launch or a copy would refuse") {
  auto* counter = test::words({0, 0});
  std::uint32_t one = 1;
  void* values[] = {&counter, &one};
  hipGraph_t graph = nullptr;
  hipGraphNode_t node = nullptr;
  ok(hipGraphCreate(&graph, 0));
  const auto add = [&](const hipKernelNodeParams& asked) {
    return hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked);
  };
  const hipFunction_t count = test::kernel("count");
  CHECK(add(count_node(nullptr, values)) == hipErrorInvalidDeviceFunction);
  CHECK(add(count_node(count, nullptr)) == hipErrorInvalidValue);
  CHECK(add(count_node(count, values, dim3{1024, 2, 1})) == hipErrorInvalidConfiguration);
  hipMemcpy3DParms lines{};
  lines.srcPtr = {counter, 3, 4, 1};
  lines.dstPtr = {counter + 1, 4, 4, 1};
  lines.extent = {4, 1, 1};
  lines.kind = hipMemcpyDeviceToDevice;
  CHECK(hipGraphAddMemcpyNode(&node, graph, nullptr, 0, &lines) == hipErrorInvalidPitchValue);
  CHECK(hipGraphAddMemcpyNode1D(&node, graph, nullptr, 0, counter, &one, 1000, hipMemcpyHostToDevice) ==
        hipErrorInvalidValue);
}

TEST_CASE("a kernel node takes a module's kernel from HIP 5.3 on") {
  test::set_env("HIP_DOUBLE_VERSION", "50221153");
  auto* counter = test::words({0});
  std::uint32_t one = 1;
  void* values[] = {&counter, &one};
  const hipKernelNodeParams asked = count_node(test::kernel("count"), values);
  hipGraph_t graph = nullptr;
  hipGraphNode_t node = nullptr;
  ok(hipGraphCreate(&graph, 0));
  CHECK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &asked) == hipErrorInvalidValue);
}

}  // namespace strict_test
