// SPDX-License-Identifier: Apache-2.0
//
// Runtimes that have less than AMD's, or only seem to have it: calls that are missing, calls that are exported and
// answer that they aren't there, memory that is aligned to less than anyplace promises. What needs them is unsupported,
// and everything else works.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/run_command.h"
#include "cuda_and_hip/support.h"
#include "support/process.h"

namespace poor_runtime_test {

namespace {

using namespace vendor_test;
using anyplace::Capability;

/// hipErrorTbd, which older headers lack.
constexpr int to_be_done = 1054;

/// HIP_DOUBLE_FAIL: the entries are exported and not there.
std::string unimplemented(const std::vector<std::string>& entries, int code = hipErrorNotSupported) {
  std::string text;
  for (const std::string& entry : entries) text += entry + ":1:" + std::to_string(code) + ":always ";
  return text;
}

/// What every runtime has to have: memory, fills, copies, kernels, events, host functions if there are any.
bool works(const Device& device) {
  const Module module = load(device, read_image("kernels.hsaco"));
  const Stream first(device), second(device), simulated(Device("cpu_sim:0"));
  const Buffer a(first, 256 * 4), b(second, 256 * 4);
  std::vector<std::uint32_t> back(256);
  first.launch(module.kernel("fill"), {4, 64}, a, 256u, 7u);
  second.wait_stream(first);
  second.copy_2d(b, 128, a, 128, 128, 8);
  a.record_stream(second);
  second.copy(back, b);
  simulated.wait_stream(second);
  second.wait_stream(simulated);
  if (device.has(Capability::host_functions)) second.launch_host_func([] {});
  second.synchronize();
  static_cast<void>(device.memory_info());
  device.synchronize();
  return back == std::vector<std::uint32_t>(256, 7) && a.address() % 256 == 0 && b.address() % 256 == 0;
}

/// Whether it works in a process with that environment, and what it printed if it doesn't.
std::string outcome_with(const std::vector<std::pair<std::string, std::string>>& environment) {
  const test::Ended child = test::in_child([&] {
    for (const auto& [name, value] : environment) test::set_env(name.c_str(), value);
    const anyplace::doubles::Control hip(library_name, true);
    try {
      const Device device("hip:0");
      static_cast<void>(device.properties());
      std::printf("%s", works(device) ? "works" : "a wrong result");
    } catch (const anyplace::Error& error) {
      std::printf("%s", error.what());
    }
    if (hip.misuses() != 0) std::printf("misuse: %s", hip.misuse_text().c_str());
    return 0;
  });
  if (child.hung) return "timed out";
  return child.signal == 0 ? child.out : "signal " + std::to_string(child.signal);
}

bool has(const Device& device, Capability capability) { return device.has(capability); }

}  // namespace

TEST_CASE("A runtime that exports a call without having it loses no device") {
  const std::vector<std::vector<std::string>> without = {
      {"hipDeviceGetUuid"},
      {"hipDeviceGetName"},
      {"hipDeviceGetPCIBusId"},
      {"hipGetDevicePropertiesR0600"},
      {"hipDeviceGetStreamPriorityRange"},
      {"hipDeviceCanAccessPeer"},
      {"hipDevicePrimaryCtxRetain"},
      {"hipDevicePrimaryCtxRelease"},
      {"hipIpcGetEventHandle"},
      {"hipStreamGetDevice"},
      {"hipStreamWaitValue64"},
      {"hipExtMallocWithFlags"},
      {"hipLaunchHostFunc"},
      {"hipMallocManaged"},
      {"hipHostRegister"},
      {"hipMemGetInfo"},
      {"hipMemcpy2DAsync"},
      {"hipThreadExchangeStreamCaptureMode"},
      {"hipMemPoolCreate"},
      {"hipMemPoolSetAttribute"},
      {"hipMemPoolGetAttribute"},
      {"hipMemPoolTrimTo"},
      {"hipMallocFromPoolAsync"},
      {"hipMallocFromPoolAsync", "hipFreeAsync", "hipMemPoolCreate", "hipMemPoolDestroy"},
      {"hipMemGetAllocationGranularity"},
      {"hipGraphCreate"},
      {"hipGraphDestroy"},
  };
  for (const auto& entries : without) {
    for (const int code : {static_cast<int>(hipErrorNotSupported), to_be_done}) {
      for (const char* caching : {"caching:false", "caching:true"}) {
        INFO(entries.front() << " answers " << code << ", " << caching);
        CHECK(outcome_with({{"HIP_DOUBLE_FAIL", unimplemented(entries, code)}, {"ANYPLACE_ALLOCATOR", caching}}) ==
              "works");
      }
    }
  }
}

TEST_CASE("A runtime that exports virtual memory without having it gives segments and says so once") {
  for (const char* entry : {"hipMemAddressReserve", "hipMemCreate", "hipMemMap", "hipMemSetAccess"}) {
    INFO(entry);
    const std::string outcome =
        outcome_with({{"HIP_DOUBLE_FAIL", unimplemented({entry})}, {"ANYPLACE_ALLOCATOR", "caching:true"}});
    CHECK_THAT(outcome, Catch::EndsWith("works"));
    const std::size_t said = outcome.find("virtual memory fails at its first use");
    CHECK(said != std::string::npos);
    CHECK(outcome.find("virtual memory fails", said + 1) == std::string::npos);
  }
}

TEST_CASE("A runtime that exports no more than what is needed works") {
  const anyplace::test::Variables variables{{"LD_LIBRARY_PATH", ANYPLACE_HIP_BARE}};
  const anyplace::test::Run info = anyplace::test::run_command({"info", "hip:0"}, variables);
  INFO(info.out << info.err);
  CHECK(info.status == 0);
  CHECK_THAT(info.out, Catch::Contains("uuid") && Catch::Contains("unknown"));
}

TEST_CASE("What a runtime does not tell of a device is unknown") {
  const Double hip({{"HIP_DOUBLE_FAIL", unimplemented({"hipDeviceGetUuid", "hipDeviceGetPCIBusId", "hipDeviceGetName",
                                                       "hipGetDevicePropertiesR0600", "hipGetDeviceProperties",
                                                       "hipDeviceGetStreamPriorityRange", "hipMemGetInfo"})
                                            .c_str()}});
  const Device device("hip:0");
  const auto properties = device.properties();
  CHECK(properties.uuid.empty());
  CHECK(properties.pci.empty());
  CHECK(properties.architecture.empty());
  CHECK_FALSE(properties.compute_capability);
  CHECK(properties.priorities.least == 0);
  CHECK(properties.priorities.greatest == 0);
  CHECK_FALSE(has(device, Capability::priorities));
  CHECK_FALSE(device.memory_info().free.has_value());
  CHECK(device.memory_info().total == properties.total_memory);
  CHECK(test::code_of([] { Device{"hip:uuid=GPU-d0b1e0a3d0000000"}; }) == ErrorCode::no_such_device);
  CHECK(Device("hip:1").index() == 1);
}

TEST_CASE("Capabilities are those that the runtime has and not those that it exports") {
  const Double hip(
      {{"HIP_DOUBLE_FAIL",
        unimplemented({"hipIpcGetEventHandle", "hipDevicePrimaryCtxRetain", "hipMemPoolCreate"}).c_str()}});
  const Device device("hip:0");
  CHECK_FALSE(has(device, Capability::interprocess_events));
  CHECK_FALSE(has(device, Capability::native_handles));
  CHECK_FALSE(has(device, Capability::stream_ordered_memory));
  CHECK(hip.live() == 0);
  CHECK(test::code_of([&] { static_cast<void>(device.native_context()); }) == ErrorCode::unsupported);
  CHECK(test::code_of([&] { const Event made(device, {.interprocess = true}); }) == ErrorCode::unsupported);
  CHECK(works(device));
}

TEST_CASE("Capabilities that the runtime has are there") {
  const Double hip;
  const Device device("hip:0");
  CHECK(has(device, Capability::interprocess_events));
  CHECK(has(device, Capability::native_handles));
  CHECK(has(device, Capability::stream_ordered_memory));
  CHECK(hip.live() == 0);
  const Event made(device, {.interprocess = true});
}

TEST_CASE("A failure that says nothing about what the runtime has is told and not kept") {
  const Double hip({{"HIP_DOUBLE_FAIL", "hipIpcGetEventHandle:1:2"}});
  const Device device("hip:0");
  CHECK(test::code_of([&] { static_cast<void>(device.properties()); }) == ErrorCode::out_of_memory);
  CHECK(has(device, Capability::interprocess_events));
}

TEST_CASE("A capability that turns out at its first use not to be there is unsupported and nothing else is lost") {
  const Double hip({{"HIP_DOUBLE_FAIL", unimplemented({"hipMallocManaged", "hipHostRegister"}).c_str()}});
  const Device device("hip:0");
  const Stream stream(device);
  std::vector<std::uint32_t> host(1024);
  CHECK(test::code_of([&] { const Buffer made(stream, 64, {anyplace::MemoryKind::managed}); }) ==
        ErrorCode::unsupported);
  CHECK(test::code_of([&] { const anyplace::HostRegistration made(device, host); }) == ErrorCode::unsupported);
  CHECK(works(device));
}

TEST_CASE("Memory is aligned as promised whatever the runtime aligns it to") {
  for (const char* alignment : {"8", "64", "128", "256"}) {
    for (const char* pools : {"0", "1"}) {
      for (const char* caching : {"caching:false", "caching:true"}) {
        INFO(alignment << " bytes, pools " << pools << ", " << caching);
        CHECK(outcome_with({{"HIP_DOUBLE_ALIGNMENT", alignment},
                            {"HIP_DOUBLE_POOLS", pools},
                            {"HIP_DOUBLE_VIRTUAL_MEMORY", "0"},
                            {"ANYPLACE_ALLOCATOR", caching}}) == "works");
      }
    }
  }
}

TEST_CASE("Memory of a runtime that aligns it to less is given back whole") {
  const Double hip({{"HIP_DOUBLE_ALIGNMENT", "64"}});
  const Device device("hip:0");
  {
    const Stream stream(device), other(device);
    std::vector<Buffer> buffers;
    for (std::uint64_t bytes = 1; bytes < 100'000; bytes *= 3) {
      buffers.emplace_back(stream, bytes);
      CHECK(buffers.back().address() % device.properties().address_alignment == 0);
      stream.memset8(buffers.back(), 5);
      buffers.emplace_back(stream, bytes, anyplace::BufferOptions{anyplace::MemoryKind::managed});
      CHECK(buffers.back().address() % device.properties().address_alignment == 0);
      other.wait_stream(stream);
      buffers.back().record_stream(other);
    }
    stream.synchronize();
    std::vector<std::uint8_t> back(2187);
    stream.copy(back, buffers[14]);
    stream.synchronize();
    CHECK(back == std::vector<std::uint8_t>(2187, 5));
    CHECK(hip.live("memory") >= buffers.size() / 2);
  }
  device.synchronize();
  CHECK(hip.live("memory") == 0);
}

TEST_CASE("The doctor finds what stands in the way of the info of a device") {
  for (const char* entry : {"hipDeviceGetUuid", "hipMemGetInfo", "hipIpcGetEventHandle"}) {
    for (const int code : {999, static_cast<int>(hipErrorNotSupported)}) {
      INFO(entry << " answers " << code);
      const anyplace::test::Variables variables{{"HIP_DOUBLE_FAIL", unimplemented({entry}, code)}};
      const anyplace::test::Run info = anyplace::test::run_command({"info", "hip:0"}, variables);
      const anyplace::test::Run doctor = anyplace::test::run_command({"doctor", "--json"}, variables);
      INFO(info.out << info.err << doctor.out);
      const auto report = nlohmann::json::parse(doctor.out);
      const auto& backends = report.at("plugins");
      const auto hip =
          std::find_if(backends.begin(), backends.end(), [](const auto& each) { return each.at("name") == "hip"; });
      REQUIRE(hip != backends.end());
      CHECK((info.status == 0) == (code != 999));
      CHECK((hip->at("devices").size() == 2) == (info.status == 0));
      CHECK(hip->at("problems").empty() == (info.status == 0));
    }
  }
}

}  // namespace poor_runtime_test
