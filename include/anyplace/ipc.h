// SPDX-License-Identifier: Apache-2.0
//
// Sharing between processes: device memory and events that several processes of one machine use.
//
//   One process                                     Another
//   Buffer buffer(device, bytes);
//   Event ready(device, {.interprocess = true});
//   send(buffer.export_handle());                   Buffer theirs = Buffer::import(device, receive());
//   send(ready.export_handle());                    Event ready = Event::import(device, receive());
//   ... work on stream ...
//   stream.record_event(ready); send("recorded");   receive(); stream.wait_event(ready); ... work on theirs ...
//
// The application sends the bytes by any way that it has: a pipe, a socket, a file. They name their machine and its
// start, backend, build, device and process, and are refused elsewhere. They are neither a secret nor a permission: the
// system decides which process may open another's memory, as it does for a debugger; processes of one user may.
//
// A wait takes the most recent record at the call. So a process has to know that the other one has recorded before it
// waits: the application sends that message, too.
//
// Uses are counted in memory that all processes see. A buffer or event that is freed while others have it open is kept
// until they close it or end. A process that ends leaves nothing behind, and nobody waits for it for ever: a record
// that it didn't complete gives the others peer_gone within a second.
#pragma once

#include <cstdint>

#include "device.h"
#include "export.h"

namespace anyplace {

/// Frees the buffers of `device` and the events that were freed while other processes had them open and that no living
/// process has open any more. It happens also whenever something is exported, and before the device runs out of memory.
/// Closes imports that aren't used any more. Returns the bytes that are still kept for others. Throws forked, shut_down
/// and not_permitted.
ANYPLACE_API std::uint64_t ipc_collect(const Device& device);

}  // namespace anyplace
