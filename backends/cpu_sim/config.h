// SPDX-License-Identifier: Apache-2.0
//
// This header has the simulator's environment variables. They are read once, when the plugin is loaded; an empty
// variable counts as unset.
//
//   ANYPLACE_CPU_SIM_DEVICES        the number of devices: 0 to 4096, default 2
//   ANYPLACE_CPU_SIM_MEMORY         the memory of each device: bytes, or a number with KiB, MiB, GiB or TiB;
//                                   default 1GiB
//   ANYPLACE_CPU_SIM_WORKERS        threads that run kernels and copies, shared by all devices: 1 to 1024; default the
//                                   number of cores that this process may use, at least 2
//   ANYPLACE_CPU_SIM_IDLE_BACKOFF   microseconds that an idle worker sleeps between two polls for work, until 2 ms have
//                                   passed without any: 0 to 1000000, default 25. With 0 it doesn't poll, and each
//                                   submission wakes it
//   ANYPLACE_CPU_SIM_FAULTS         report (the default): when a faulty kernel raises a signal, its name and block are
//                                   reported (fault_report.h); off: signals are left alone
//   ANYPLACE_CPU_SIM_PROTECT        1: only commands can access device memory (protection.h), by protection keys where
//                                   there are some, else by the pages' access; keys or pages: by that one; default 0
//   ANYPLACE_CPU_SIM_PROCESSOR      x86-64, x86-64-v2, x86-64-v3 or x86-64-v4: an image for a higher level is refused
//                                   (processor.h); default: what the processor has
//   ANYPLACE_CPU_SIM_MODE           threads (the default) or deterministic, as docs/cpu_sim-deterministic.md says, with
//                                   the following, which mean something there only
//                                   (and with the variables by which launchers number ranks, job.h)
//   ANYPLACE_CPU_SIM_SEED           a number, default 0
//   ANYPLACE_CPU_SIM_STRATEGY       who chooses, default random, with a profile eager
//   ANYPLACE_CPU_SIM_REPORT         the file of the report, default none
//   ANYPLACE_CPU_SIM_HASH           1: the schedule's hash is a line on standard error at the end; default 0
//   ANYPLACE_CPU_SIM_PROFILE        the figures of a device (profile.h), by which operations take their time, as
//                                   docs/cpu_sim-profiles.md says; it brings the deterministic mode with it, and the
//                                   defaults for ANYPLACE_CPU_SIM_DEVICES and ANYPLACE_CPU_SIM_MEMORY
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "job.h"

namespace anyplace::cpu_sim {

struct Profile;

/// How device memory is protected from the host.
enum class Protect : std::uint8_t { off, automatic, keys, pages };

struct Config {
  std::int32_t devices = 2;
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  std::uint32_t workers = 2;
  std::int64_t backoff_ns = 25'000;
  bool report_faults = true;
  Protect protect = Protect::off;
  int processor_level = 0;  ///< 0 for the processor's own
  // What follows has a meaning in the deterministic mode only.
  bool deterministic = false;
  bool prints_hash = false;
  Job job;                                 ///< which rank of which job this process is
  std::uint64_t seed = 0;                  ///< the job's; seed_of_rank() makes the process's own
  std::string strategy = "random";         ///< make_strategy() parses it.
  std::string report;                      ///< It is empty if none is written.
  std::shared_ptr<const Profile> profile;  ///< It is null if there is none.

  /// Throws Failure(INVALID_ARGUMENT) that shows the variable, its value and what is allowed.
  static Config from_environment();
};

/// Parses "64MiB" and the like. Returns false when `text` is no byte count from 1 to 2^63 - 1.
bool parse_bytes(const std::string& text, std::uint64_t* bytes) noexcept;

}  // namespace anyplace::cpu_sim
