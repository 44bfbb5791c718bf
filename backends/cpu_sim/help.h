// SPDX-License-Identifier: Apache-2.0
//
// A host thread waits like this: it runs the work that it waits for itself, unless another thread has begun it. That
// takes less time for a short kernel than waking another thread.
//
// It runs nothing else: only the streams that it waits for and those that they wait for, each up to the awaited
// command. So it never runs a long kernel that it doesn't wait for. Host functions are left to the device's host
// thread. With a time limit a host thread only waits, because it couldn't leave a kernel that takes longer.
#pragma once

#include <span>

#include "clock.h"
#include "record.h"

namespace anyplace::cpu_sim {

class Device;

/// Blocks this thread until the records are complete. Returns false when time ran out first.
bool wait_for(std::span<const Record> records, const Deadline& deadline) noexcept;

/// Does the same for everything submitted to the device before the call.
bool synchronize(Device& device, const Deadline& deadline);

inline bool wait_for(const Record& record, std::uint64_t timeout_ns) noexcept {
  return record.complete() || wait_for({&record, 1}, Deadline::after(timeout_ns));
}

}  // namespace anyplace::cpu_sim
