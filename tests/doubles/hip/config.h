// SPDX-License-Identifier: Apache-2.0
//
// How the double is configured: the environment, read once, at the first call (README.md lists the variables).
#ifndef ANYPLACE_TESTS_DOUBLES_HIP_CONFIG_H
#define ANYPLACE_TESTS_DOUBLES_HIP_CONFIG_H

#include <cstdint>
#include <string>
#include <vector>

namespace anyplace::doubles::hip {

struct Config {
  int init_result = 0;
  int version = 60'443'484;  // 6.4.43484
  int physical_devices = 2;
  std::vector<int> visible;  // physical indices, in the order of HIP_VISIBLE_DEVICES
  uint64_t device_bytes = uint64_t{1} << 30U;
  uint64_t host_bytes = uint64_t{4} << 30U;
  std::string arch = "gfx90a";  // without features
  bool peers = true;
  bool pools = true;
  bool managed = true;
  bool wait_value = true;
  bool virtual_memory = true;
  bool pageable_async = false;
  uint64_t alignment = 4096;  // of device and managed memory, and no more
  uint64_t seed = 0;
  int workers = 3;
  std::string failures;
  bool log = false;

  int major() const noexcept { return version / 10'000'000; }
};

/// What the environment says. What can't be read is a message on standard error and the end of the process: a test that
/// is misconfigured proves nothing.
const Config& config();

/// The 16 digits of a physical device's unique id, which HIP gives as the bytes of its uuid.
std::string uuid_digits(int physical);

}  // namespace anyplace::doubles::hip

#endif  // ANYPLACE_TESTS_DOUBLES_HIP_CONFIG_H
