// SPDX-License-Identifier: Apache-2.0
//
// The commands of streams that record interprocess events (anyplace/backend/kit/shared_event.h) and wait for those of
// other processes, and how a host waits for them.
#pragma once

#include <anyplace/backend/device_backend.h>
#include <anyplace/backend/kit/shared_event.h>

#include <cstdint>

#include "record.h"

namespace anyplace::cpu_sim {

using backend::SharedEvent;
using backend::SharedRecord;

class Stream;

/// Records the event. `local` becomes the same record on the stream's own timeline. Throws as SharedEvent::record, and
/// if nothing can be submitted.
SharedRecord submit_shared_record(SharedEvent& event, Stream& stream, Record& local);

/// Waits for the record. A thread that `spins` polls for a while before it sleeps. Returns false when time ran out
/// first. Throws as SharedEvent::complete.
bool synchronize_shared(const SharedEvent& event, const SharedRecord& record, std::uint64_t timeout_ns, bool spins);

/// Holds back what is submitted to the stream later until the record is complete. If the process that made it ends
/// before, that is the stream's fault.
void submit_shared_wait(const SharedEvent& event, const SharedRecord& record, Stream& stream, backend::Host host,
                        std::uint64_t cookie);

}  // namespace anyplace::cpu_sim
