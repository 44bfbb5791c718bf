// SPDX-License-Identifier: Apache-2.0
//
// What the environment says about the simulator. Read once, when the plugin is entered; an empty variable counts as
// unset.
//
//   ANYPLACE_CPU_SIM_DEVICES   how many devices there are: 0 to 4096, default 2
//   ANYPLACE_CPU_SIM_MEMORY    memory of each device: bytes, or a number with KiB, MiB, GiB or TiB; default 1GiB
//   ANYPLACE_CPU_SIM_WORKERS   threads that run kernels and copies, shared by all devices: 1 to 1024; default as many
//                              as this process may use cores, at least 2
//   ANYPLACE_CPU_SIM_DOZE      microseconds that an idle worker sleeps between two looks for work, until 2 ms have
//                              passed without any: 0 to 1000000, default 25. 0: it isn't to look, each submission wakes
//                              it
//   ANYPLACE_CPU_SIM_FAULTS    report: the signal that a faulty kernel ends the process by is told with the kernel's
//   name
//                              and block (fault_report.h); off: signals are left alone. Default report
#ifndef ANYPLACE_BACKENDS_CPU_SIM_CONFIG_H
#define ANYPLACE_BACKENDS_CPU_SIM_CONFIG_H

#include <cstdint>
#include <string>

namespace anyplace::cpu_sim {

struct Config {
  int32_t devices = 2;
  uint64_t memory_bytes = uint64_t{1} << 30;
  uint32_t workers = 2;
  int64_t doze_ns = 25'000;
  bool report_faults = true;

  /// Throws Failure(INVALID_ARGUMENT) that shows the variable, its value and what is allowed.
  static Config from_environment();
};

/// "64MiB" and the like; false when `text` is no byte count from 1 to 2^63 - 1.
bool parse_bytes(const std::string& text, uint64_t* bytes) noexcept;

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_CONFIG_H
