// SPDX-License-Identifier: Apache-2.0
//
// What streams and events ask of captures, on the slow path (capture.cpp). Apart from capture.h, which is made of them.
#pragma once

namespace anyplace::detail {

struct DeviceState;
struct EventState;
struct StreamState;

/// The stream's handle was closed: a capture that began on it can't be ended any more.
void note_closed_while_captured(StreamState& stream) noexcept;

/// False if the stream isn't captured: the event is then recorded as ever.
bool capture_record(EventState& event, StreamState& stream, const char* operation);
/// False if neither stream nor event is captured.
bool capture_wait(StreamState& stream, EventState& event, const char* operation);
/// An event was recorded on a stream that isn't captured.
void forget_captured_record(EventState& event) noexcept;
/// Throws capturing, and invalidates the capture, if the stream is captured or is the null stream of one: for
/// everything that would have to wait for its work or to know about it.
void refuse_if_captured(StreamState& stream, const char* operation);
/// The same if the event's most recent record was captured.
void refuse_if_captured(EventState& event, const char* operation);
/// Throws capturing, and invalidates the captures that forbid it, if the calling thread may not make calls now that act
/// on a whole device: allocating memory, waiting for a device. `device` is for the error's place.
void refuse_unsafe_call(const DeviceState& device, const char* operation);
/// The same, whatever the mode, for what would end the streams of a capture: resetting the device.
void refuse_captures(const DeviceState& device, const char* operation);

}  // namespace anyplace::detail
