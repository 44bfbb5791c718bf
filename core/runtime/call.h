// SPDX-License-Identifier: Apache-2.0
//
// Every public call checks the process at its beginning and the status of the backend's entry at its end. The path
// without an error is inline, a few loads and branches; the rest is in call.cpp.
#pragma once

#include <string>

#include "anyplace/error.h"
#include "runtime/backend.h"
#include "runtime/process.h"

namespace anyplace::detail {

/// Throws an Error. `place` and `text` may be empty; an empty text is replaced by the code's own. The text's lines are
/// the parts of an Error (set_parts).
[[noreturn]] void fail(ErrorCode code, std::string place, const char* operation, std::string text);

/// Sets text, remedy and see of `details` to the three lines of `text`: what is wrong, what would be right, where to
/// look. A text of more lines is kept as one part, and what() shows it with its line ends escaped.
void set_parts(ErrorDetails& details, std::string text);

/// The table's text of a code. Never null.
const char* text_of(ErrorCode code) noexcept;

/// Throws forked, shut_down or not_permitted, whichever applies.
[[noreturn]] void refuse_call(const char* operation);
/// Throws device_lost.
[[noreturn]] void refuse_lost(const DeviceState& device, const char* operation);
/// Throws the Error of a status that a backend returned, with the message that the backend left on this thread. Marks
/// the device lost if the status is DEVICE_LOST.
[[noreturn]] void raise(anyplace_status status, DeviceState& device, const char* operation);
/// Like raise(), but returns the Error. Takes the message away.
Error make_error(anyplace_status status, DeviceState& device, const char* operation);
/// The Error of a status that came with `message`. Marks no device lost.
struct Message;
Error error_of(anyplace_status status, Message message, std::string place, const char* operation);

/// The error as that of another call: a call that is made of others reports their errors under its own name, because
/// its caller knows nothing of them.
Error renamed(const Error& error, const char* operation);

/// The first statement of every public call that isn't a destructor.
inline void enter(const char* operation) {
  if (!process_running() || in_callback()) [[unlikely]]
    refuse_call(operation);
}

inline void require_usable(const DeviceState& device, const char* operation) {
  if (device.lost.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_lost(device, operation);
}

inline void check(anyplace_status status, DeviceState& device, const char* operation) {
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise(status, device, operation);
}

/// Throws as the check above, for an object that has a `device`, which is read only if the status is an error.
template <class Object>
inline void check(anyplace_status status, const Object& object, const char* operation) {
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise(status, *object.device, operation);
}

/// While one lives, the calling thread's Errors are dropped: they tell nobody of a device's loss.
class DropsErrors {
 public:
  DropsErrors() noexcept { ++depth; }
  DropsErrors(const DropsErrors&) = delete;  // it is bound to its scope
  DropsErrors& operator=(const DropsErrors&) = delete;
  ~DropsErrors() { --depth; }

  static bool here() noexcept { return depth != 0; }

 private:
  static constinit thread_local unsigned depth;
};

/// For destructors and background threads: gives a failure to the error handler instead of throwing it.
void check_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept;
/// As check_quietly(), for an entry that gives something back: on a lost device its failure means nothing, so it is
/// reported only as the loss, if nobody was told of that.
void check_given_back(anyplace_status status, DeviceState& device, const char* operation) noexcept;
/// For a call that goes on although a part of it failed: takes the message away and reports nothing. A loss is kept
/// with the vendor's reason.
void note_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept;

/// Gives `error` to the error handler.
void report(const Error& error) noexcept;
/// Called in a catch block around code of the user's: gives the exception, whatever its type, to the error handler.
void report_current(const std::string& place, const char* operation) noexcept;

/// Keeps the first Error with the vendor's reason for the device's loss; later device_lost errors repeat that reason.
void keep_loss(DeviceState& device, const Error& error);
/// Adds the vendor's reason to the details of a later device_lost, if it is known.
void add_loss(ErrorDetails& details, const DeviceState& device);

/// Sets device.lost and calls the subsystems (subsystem.h), which end all waits for that device. Idempotent.
void mark_lost(DeviceState& device) noexcept;

/// Makes calls with the device's handles (null: any device's) take the slow path, which checks the device and the
/// process.
void close_fast_path(const DeviceState* device) noexcept;

// -- The message that a backend left on this thread (anyplace_host::leave_message).
struct Message {
  std::int64_t vendor_code = 0;
  std::string vendor_name;
  std::string text;
};
void leave_message(std::int64_t vendor_code, const char* vendor_name, const char* text) noexcept;
/// Returns the message and clears it; empty if there is none.
Message take_message() noexcept;

/// The name of the backend that calls its host with `context`: a Backend, or null before there is one.
std::string backend_name(void* context);

}  // namespace anyplace::detail
