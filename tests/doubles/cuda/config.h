// SPDX-License-Identifier: Apache-2.0
//
// How the double is configured: the environment, read once, at the first call (README.md lists the variables).
#ifndef ANYPLACE_TESTS_DOUBLES_CUDA_CONFIG_H
#define ANYPLACE_TESTS_DOUBLES_CUDA_CONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::doubles::cuda {

struct Config {
  int init_result = 0;
  int driver_version = 13000;
  int physical_devices = 2;
  std::vector<int> visible;  // physical indices, in the order of CUDA_VISIBLE_DEVICES
  uint64_t device_bytes = uint64_t{1} << 30U;
  uint64_t host_bytes = uint64_t{4} << 30U;
  int sm = 90;
  bool peers = true;
  bool pools = true;
  bool managed = true;
  bool mig = false;             // the devices are instances of one partitioned GPU
  bool pageable_async = false;  // copies from and to pageable memory of the host don't block
  uint64_t seed = 0;
  int workers = 3;
  std::vector<std::string> missing;  // exported symbols that the driver is said to lack
  std::string failures;
  bool log = false;
};

/// What the environment says. What can't be read is a message on standard error and the end of the process: a test that
/// is misconfigured proves nothing.
const Config& config();

/// "GPU-..." of a physical device, or "MIG-..." of an instance, as nvidia-smi prints it.
std::string uuid_text(const Config& config, int physical);
/// The 16 bytes of it.
void uuid_bytes(const Config& config, int physical, unsigned char* bytes);
/// Those of the GPU that an instance is of; the device's own where it is none.
void gpu_uuid_bytes(const Config& config, int physical, unsigned char* bytes);

}  // namespace anyplace::doubles::cuda

#endif  // ANYPLACE_TESTS_DOUBLES_CUDA_CONFIG_H
