// SPDX-License-Identifier: Apache-2.0
//
// A driver's library without NVML beside it.
#include "cuda_and_hip/support.h"

namespace no_nvml_test {

using namespace vendor_test;

TEST_CASE("Without NVML figures are unknown, and the source says which package has it") {
  const Double cuda({{"CUDA_DOUBLE_MEMORY", "96M"}});
  const Device device("cuda:0");
  if (anyplace::monitoring_source(device).find("NVML ") == 0) {
    std::printf("ANYPLACE_TEST_SKIPPED this machine has an NVML of its own\n");
    return;
  }
  const anyplace::DeviceSample now = anyplace::sample(device);
  CHECK(now.memory_total_bytes == 96u << 20);
  CHECK_FALSE(now.memory_used_bytes);
  CHECK_FALSE(now.compute_utilization);
  CHECK_FALSE(now.power_watts);
  CHECK_THAT(anyplace::monitoring_source(device), contains("libnvidia-ml.so.1") && contains("libnvidia-ml1"));
  CHECK_FALSE(device.has(anyplace::Capability::list_processes));
  CHECK(device.has(anyplace::Capability::monitoring));
  const Buffer buffer(device, 1 << 20);
  CHECK(anyplace::sample(device).memory_used_bytes >= 1u << 20);
}

}  // namespace no_nvml_test
