// SPDX-License-Identifier: Apache-2.0
//
// What every public entry does around the backend's: the check at the beginning, the status at the end. The good path
// is inline, a few loads and branches; everything else is out of line in call.cpp.
#pragma once

#include <string>

#include "anyplace/error.h"
#include "backend.h"
#include "borrow.h"
#include "process.h"

namespace anyplace::detail {

/// Throws. `place` and `text` may be empty; an empty text is replaced by the code's own. The text's lines are the parts
/// of an Error (set_parts).
[[noreturn]] void fail(ErrorCode code, std::string place, const char* operation, std::string text);

/// Sets text, remedy and see of `details` to the lines of `text`: what is wrong, what would be right, where to look. A
/// text of more lines than that is one part, which what() shows with its line ends escaped.
void set_parts(ErrorDetails& details, std::string text);

/// The table's text of a code. Never null.
const char* text_of(ErrorCode code) noexcept;

/// Throws forked, shut_down or not_permitted, whichever applies.
[[noreturn]] void refuse_call(const char* operation);
/// Throws device_lost.
[[noreturn]] void refuse_lost(const DeviceState& device, const char* operation);
/// Throws the Error of a status that a backend returned, with the message that it left on this thread. Marks the device
/// lost if the status says so.
[[noreturn]] void raise(anyplace_status status, DeviceState& device, const char* operation);
/// The same Error without throwing it. Takes the message away.
Error make_error(anyplace_status status, DeviceState& device, const char* operation);
/// The same for a status of no device of ours, with a message in hand.
struct Message;
Error error_of(anyplace_status status, Message message, std::string place, const char* operation);

/// The first statement of every public entry that isn't a destructor.
inline void enter(const char* operation) {
  if (!process_running() || in_callback()) [[unlikely]]
    refuse_call(operation);
}

/// The same for the long way of a call that has a short one (borrow.h): the thread's next such call may go that.
inline void enter_long_way(const char* operation) {
  enter(operation);
  join_short_calls();
}

inline void require_usable(const DeviceState& device, const char* operation) {
  if (device.lost.load(std::memory_order_relaxed)) [[unlikely]]
    refuse_lost(device, operation);
}

inline void check(anyplace_status status, DeviceState& device, const char* operation) {
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise(status, device, operation);
}

/// For destructors and background threads: a failure goes to the error handler.
void check_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept;

/// Hands `error` to the error handler.
void report(const Error& error) noexcept;

/// Keeps the vendor's account of how the device was lost, if it is the first there is, for later calls to show.
void keep_loss(DeviceState& device, const Error& error);
/// Puts the vendor's reason into the details of a later device_lost, if it is known.
void add_loss(ErrorDetails& details, const DeviceState& device);

/// Sets device.lost and releases whoever waits for that device from another backend (cross_wait.h). Idempotent.
void mark_lost(DeviceState& device) noexcept;

/// From now on every call with a handle of the device's goes the long way (borrow.h), which looks at what became of it.
/// Null: of every device's.
void bar_short_calls(const DeviceState* device) noexcept;

// -- The message that a backend left on this thread (anyplace_host::leave_message).
struct Message {
  std::int64_t vendor_code = 0;
  std::string vendor_name;
  std::string text;
};
void leave_message(std::int64_t vendor_code, const char* vendor_name, const char* text) noexcept;
/// Takes it away; empty if there is none.
Message take_message() noexcept;

/// What every plugin gets, but for the context: that is its Backend (in which the plugin's copy lives).
const anyplace_host& host_table() noexcept;

}  // namespace anyplace::detail
