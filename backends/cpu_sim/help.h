// SPDX-License-Identifier: Apache-2.0
//
// How a host thread waits: it runs what it waits for itself, if nobody has begun it. A kernel that was submitted to an
// idle stream just now is done in less time than another thread would need to hear of it.
//
// It runs nothing else: only streams that it waits for, and those that they wait for, each up to the command that is
// waited for; so it is never caught in a long kernel that doesn't concern it. Host functions are left to the device's
// host thread. With a limit of time a host only waits: it could not leave a kernel that takes longer.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_HELP_H
#define ANYPLACE_BACKENDS_CPU_SIM_HELP_H

#include <span>

#include "clock.h"
#include "record.h"

namespace anyplace::cpu_sim {

/// Blocks this thread until the records are complete; false when time ran out first.
bool wait_for(std::span<const Record> records, const Deadline& deadline) noexcept;

inline bool wait_for(const Record& record, uint64_t timeout_ns) noexcept {
  return record.complete() || wait_for({&record, 1}, Deadline::after(timeout_ns));
}

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_HELP_H
