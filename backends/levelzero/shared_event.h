// SPDX-License-Identifier: Apache-2.0
//
// SharedEvent: the shared part of an interprocess event: its place in an arena that several processes map
// (anyplace/backend/kit/event_arena.h), where they see its most recent record and whether that is done.
//
// Level Zero can share event pools between processes, but such events don't keep the contract: a ze_event is signalled
// once and reset by hand, and the process that resets it can't know whether another one still waits. So no object of
// Level Zero is shared. A record is a step of the device's helper thread, in the stream's order, which raises a counter
// in the arena. A stream that waits for another process's record waits for a signal that this process's host signals.
#pragma once

#include "anyplace/backend/kit/deadline.h"
#include "anyplace/backend/kit/shared_event.h"
#include "signal.h"

namespace anyplace::levelzero {

using anyplace::backend::SharedEvent;
using anyplace::backend::SharedRecord;

class Stream;

/// Records the event behind the stream's work. `done` becomes this process's own signal of the record, null if the
/// stream has no work: other processes see the record as done before it is signalled. Throws as SharedEvent::record and
/// Waiter::make_job.
SharedRecord submit_shared_record(SharedEvent& event, Stream& stream, SignalRef& done);

/// Waits for the record. Returns false when time ran out first. Throws as SharedEvent::complete.
bool synchronize_shared(const SharedEvent& event, const SharedRecord& record, const backend::Deadline& deadline);

/// Holds back what is submitted to the stream later until the record is complete. If the process that made it ends
/// before, that is the stream's fault.
void submit_shared_wait(const SharedEvent& event, const SharedRecord& record, Stream& stream);

}  // namespace anyplace::levelzero
