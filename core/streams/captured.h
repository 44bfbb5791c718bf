// SPDX-License-Identifier: Apache-2.0
//
// The questions that streams and events ask of captures, on the slow path (capture.cpp). They are apart from capture.h,
// which needs the complete types of streams and events.
#pragma once

namespace anyplace::detail {

struct DeviceState;
struct EventState;
struct StreamState;

/// Called when the stream's handle was closed: a capture that began on it can't be ended any more.
void note_closed_while_captured(StreamState& stream) noexcept;

/// Records the event in the stream's capture. False if the stream isn't captured: the caller then records it in the
/// backend.
bool capture_record(EventState& event, StreamState& stream, const char* operation);
/// Makes the stream wait within the capture. False if neither stream nor event is captured: the caller then lets the
/// backend wait.
bool capture_wait(StreamState& stream, EventState& event, const char* operation);
/// Called when the event was recorded on a stream that isn't captured.
void forget_captured_record(EventState& event) noexcept;
/// Throws capturing, and invalidates the capture, if the stream is captured or is the null stream beside a captured
/// blocking one. Calls use it that would have to wait for the stream's work or to know about it.
void refuse_if_captured(StreamState& stream, const char* operation);
/// Throws capturing, and invalidates a capture that hasn't ended, if the event's most recent record was captured.
void refuse_if_captured(EventState& event, const char* operation);
/// Throws capturing, and invalidates the captures that forbid it, if the calling thread may not make calls now that act
/// on a whole device: allocating memory, waiting for a device. `device` is for the error's place.
void refuse_unsafe_call(const DeviceState& device, const char* operation);
/// Throws capturing as refuse_unsafe_call() does, and in any mode if a stream of the device is captured: resetting the
/// device would end that stream.
void refuse_captures(const DeviceState& device, const char* operation);

}  // namespace anyplace::detail
