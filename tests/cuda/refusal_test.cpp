// SPDX-License-Identifier: Apache-2.0
//
// Drivers that the backend can't work with, and those that it can work with in part. Each is a child: a process loads
// one driver.
#include <cstdio>
#include "cuda/driver.h"
#include "cuda_and_hip/outcome.h"

namespace refusal_test {

namespace {

using namespace vendor_test;

struct Entry {
  bool required;
  std::string symbol;
  int version;
};

std::vector<Entry> all_entries() {
  enum { OPTIONAL, REQUIRED };
  return {
#define ANYPLACE_CUDA_ROW(need, Member, name, version, symbol, parameters) {need == REQUIRED, symbol, version},
      ANYPLACE_CUDA_ENTRIES(ANYPLACE_CUDA_ROW)
#undef ANYPLACE_CUDA_ROW
  };
}

/// What the driver's start goes through before there is a table.
bool is_asked_for_directly(const std::string& symbol) {
  return symbol == "cuDriverGetVersion" || symbol == "cuGetErrorName" || symbol == "cuGetErrorString";
}

}  // namespace

TEST_CASE("A stub in the place of the driver is refused and named as one") {
  check_refused({{"CUDA_DOUBLE_INIT", "34"}}, "no_driver", {"stub", "libcuda.so.1"});
}

TEST_CASE("A driver that finds no device is refused as having none") {
  check_refused({{"CUDA_DOUBLE_INIT", "100"}}, "no_such_device",
                {"no_such_device", "finds no device", "libcuda.so.1", "nvidia-smi"});
}

TEST_CASE("A driver whose devices are hidden is refused with the variable that may hide them") {
  check_refused({{"CUDA_VISIBLE_DEVICES", ""}}, "no_such_device", {"CUDA_VISIBLE_DEVICES is \"\""});
}

TEST_CASE("A kernel driver that does not fit the library is refused with what to do") {
  check_refused({{"CUDA_DOUBLE_INIT", "35"}}, "no_driver", {"older", "libcuda.so.1"});
  check_refused({{"CUDA_DOUBLE_INIT", "803"}}, "no_driver", {"reboot", "libcuda.so.1"});
  check_refused({{"CUDA_DOUBLE_INIT", "804"}}, "no_driver", {"forward-compatibility", "libcuda.so.1"});
}

TEST_CASE("A driver that fails without a reason is refused with where to look") {
  check_refused({{"CUDA_DOUBLE_INIT", "999"}}, "no_driver", {"nvidia_uvm", "dmesg"});
}

TEST_CASE("A driver that is too old is refused with its version and the one needed") {
  check_refused({{"CUDA_DOUBLE_DRIVER_VERSION", "10020"}}, "no_driver", {"CUDA 10.2", "CUDA 11.0", "450"});
}

TEST_CASE("A driver that lacks a function that is needed is refused with its name") {
  unsigned tried = 0;
  for (const Entry& entry : all_entries()) {
    if (!entry.required || is_asked_for_directly(entry.symbol)) continue;
    ++tried;
    INFO(entry.symbol);
    check_refused({{"CUDA_DOUBLE_MISSING", entry.symbol}}, "no_driver", {"lacks " + entry.symbol, "CUDA 13.0"});
  }
  CHECK(tried > 40);
}

TEST_CASE("A driver that lacks a function that is not needed works without its capability") {
  const std::string all = outcome_with({});
  for (const Entry& entry : all_entries()) {
    if (entry.required) continue;
    // cuGetProcAddress would find the first form of it.
    const std::string both = entry.symbol == "cuStreamWaitValue32_v2" ? ":cuStreamWaitValue32" : "";
    const std::string outcome = outcome_with({{"CUDA_DOUBLE_MISSING", entry.symbol + both}});
    INFO(entry.symbol << ": " << outcome);
    CHECK(outcome.substr(0, 2) == "ok");
    const bool pools = entry.symbol.find("Pool") != std::string::npos || entry.symbol == "cuMemFreeAsync";
    const bool figures = entry.symbol == "cuMemPoolGetAttribute";
    const bool has_pools = has(outcome, "stream_ordered_memory");
    CHECK(has_pools == (!pools || figures));
    const bool gates = has(outcome, "gates");
    CHECK(gates == (entry.symbol != "cuStreamWaitValue32_v2"));
    const bool managed = has(outcome, "managed_memory");
    CHECK(managed == (entry.symbol != "cuMemAllocManaged"));
  }
  for (const char* symbol : {"cuMemGetAllocationGranularity", "cuMemAddressReserve", "cuMemAddressFree", "cuMemCreate",
                             "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemSetAccess"}) {
    INFO(symbol);
    CHECK_THAT(outcome_with({{"CUDA_DOUBLE_MISSING", symbol}}), !contains("virtual_memory"));
  }
  const std::string untimed = outcome_with({{"CUDA_DOUBLE_MISSING", "cuEventElapsedTime:cuEventElapsedTime_v2"}});
  CHECK_THAT(untimed, contains("ok") && !contains("timed_events"));
  CHECK_THAT(all, contains("timed_events") && contains("virtual_memory") && contains("stream_ordered_memory"));
}

TEST_CASE("A driver from before cuGetProcAddress is asked through its exported symbols") {
  const test::Ended child = test::in_child([] {
    // Under the name that the backend opens there is then this one.
    if (dlopen(ANYPLACE_CUDA_OLD_DRIVER, RTLD_NOW | RTLD_LOCAL) == nullptr) return 1;
    const Device device("cuda:0");
    const Stream stream(device);
    const Buffer numbers(stream, 4096);
    std::vector<std::uint32_t> back(1024);
    stream.memset32(numbers, 4);
    stream.copy(back, numbers);
    stream.synchronize();
    std::printf("%s\n", device.properties().driver_version.c_str());
    return back == std::vector<std::uint32_t>(1024, 4) ? 0 : 2;
  });
  INFO(child.out);
  CHECK(child.status == 0);
  CHECK(child.out == "11.2\n");
}

TEST_CASE("Each older driver from CUDA 11 on is taken") {
  for (const char* version : {"11000", "11010", "11020", "11040", "11080", "12000", "12020", "12040", "12080"}) {
    const std::string outcome = outcome_with({{"CUDA_DOUBLE_DRIVER_VERSION", version}});
    INFO(version << ": " << outcome);
    CHECK(outcome.substr(0, 2) == "ok");
    CHECK(has(outcome, "stream_ordered_memory") == (std::stoi(version) >= 11020));
    CHECK(has(outcome, "gates") == (std::stoi(version) >= 11070));
    CHECK_THAT(outcome, contains("timed_events"));
  }
}

}  // namespace refusal_test
