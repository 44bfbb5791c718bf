// SPDX-License-Identifier: Apache-2.0
//
// The slow side of call.h: how statuses become Errors, and the functions that the core offers to backends.
#include "call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "anyplace/backend/thread_sanitizer.h"
#include "cross_wait.h"
#include "event_state.h"
#include "kernel_state.h"
#include "shortage.h"
#include "stream_state.h"
#include "switch_variable.h"
#include "text.h"
#include "thread_end.h"

namespace anyplace::detail {
namespace {

constexpr std::size_t vendor_name_limit = 256;

bool in_table(anyplace_status status) noexcept {
  switch (status) {
#define ANYPLACE_STATUS_CASE(upper, lower, number, text) case number:
    ANYPLACE_STATUS_LIST(ANYPLACE_STATUS_CASE)
#undef ANYPLACE_STATUS_CASE
    return true;
    default:
      return false;
  }
}

/// This thread's message. It is freed when the thread ends; a message left after that is dropped.
constinit thread_local Message* pending_message = nullptr;
void free_message() noexcept { delete std::exchange(pending_message, nullptr); }
constinit thread_local ThreadEndTask message_end{free_message};

Message* make_pending_message() {
  if (pending_message == nullptr && at_thread_end(message_end)) pending_message = new Message;
  return pending_message;
}

}  // namespace

// ---- Refusals ------------------------------------------------------------------------------------------------------

void fail(ErrorCode code, std::string place, const char* operation, std::string text) {
  ErrorDetails details;
  details.code = code;
  details.place = std::move(place);
  details.operation = operation;
  set_parts(details, text.empty() ? std::string(text_of(code)) : std::move(text));
  throw Error(std::move(details));
}

void set_parts(ErrorDetails& details, std::string text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second != std::string::npos && text.find('\n', second + 1) != std::string::npos) {
    details.text = std::move(text);
    return;
  }
  if (second != std::string::npos) details.see = text.substr(second + 1);
  if (first != std::string::npos) details.remedy = text.substr(first + 1, second - first - 1);
  text.resize(std::min(first, text.size()));
  details.text = std::move(text);
}

void refuse_call(const char* operation) {
  switch (process_phase.load(std::memory_order_relaxed)) {
    case Phase::forked:
      fail(ErrorCode::forked, "", operation,
           "this process was forked after a backend was initialised, and devices don't survive that\nuse anyplace in "
           "the parent only, fork before the first Device is made, or call exec in the child");
    case Phase::exiting:
      fail(ErrorCode::shut_down, "", operation,
           "the process is exiting and the backends are shut down\nfinish with devices before main returns");
    case Phase::running:
      break;
  }
  fail(ErrorCode::not_permitted, "", operation,
       "a host function, a kernel, an error handler called by a backend or a plugin's entry may not call anyplace, "
       "except to destroy handles\ndo it on another thread, or after a synchronize");
}

void refuse_lost(const DeviceState& device, const char* operation) {
  ErrorDetails details;
  details.code = ErrorCode::device_lost;
  details.place = device.place;
  details.operation = operation;
  details.text = "the device failed for good earlier in this process";
  details.remedy =
      "its handles can still be destroyed, and other devices go on; to use this one again start a new process";
  add_loss(details, device);
  throw Error(std::move(details));
}

void add_loss(ErrorDetails& details, const DeviceState& device) {
  const Error* const first = device.loss.load(std::memory_order_acquire);
  if (first == nullptr) return;
  backend::acquire_from_sanitizer(&device.loss);
  details.vendor_code = first->vendor_code();
  details.vendor_name = first->vendor_name();
  details.vendor_text = first->vendor_text();
}

// ---- Statuses ------------------------------------------------------------------------------------------------------

Error error_of(anyplace_status status, Message message, std::string place, const char* operation) {
  ErrorDetails details;
  details.code = in_table(status) ? static_cast<ErrorCode>(status) : ErrorCode::backend_failed;
  details.place = std::move(place);
  details.operation = operation;
  // A text with a vendor's code or name is the vendor's; without, it is the backend's own account of what is wrong.
  const bool from_vendor = message.vendor_code != 0 || !message.vendor_name.empty();
  details.vendor_code = message.vendor_code;
  details.vendor_name = std::move(message.vendor_name);
  if (from_vendor) {
    details.vendor_text = std::move(message.text);
  } else if (status == ANYPLACE_STATUS_KERNEL_FAILED || status == ANYPLACE_STATUS_HOST_FUNCTION_FAILED) {
    details.text = std::move(message.text);  // what the user's code threw: its lines are the user's
  } else {
    set_parts(details, std::move(message.text));
  }
  if (!in_table(status)) {
    const std::string number = fmt::format("the backend returned status {}, which is not in the table of ABI {}.{}",
                                           status, ANYPLACE_ABI_MAJOR, ANYPLACE_ABI_MINOR);
    details.text = details.text.empty() ? number : number + ": " + details.text;
  } else if (status == ANYPLACE_STATUS_OK) {
    details.code = ErrorCode::internal;
    details.text = "a failure was reported with status OK: " + details.text;
  }
  if (details.text.empty()) details.text = text_of(details.code);
  return Error(std::move(details));
}

Error make_error(anyplace_status status, DeviceState& device, const char* operation) {
  if (status != ANYPLACE_STATUS_DEVICE_LOST) return error_of(status, take_message(), device.place, operation);
  try {
    Error error = error_of(status, take_message(), device.place, operation);
    keep_loss(device, error);
    mark_lost(device);
    return error;
  } catch (...) {  // no memory to say how
    mark_lost(device);
    throw;
  }
}

void keep_loss(DeviceState& device, const Error& error) {
  if (error.vendor_code() == 0 || device.loss.load(std::memory_order_relaxed) != nullptr) return;
  auto kept = std::make_unique<const Error>(error);
  const Error* none = nullptr;
  backend::release_to_sanitizer(&device.loss);
  if (device.loss.compare_exchange_strong(none, kept.get(), std::memory_order_acq_rel)) kept.release();
}

void raise(anyplace_status status, DeviceState& device, const char* operation) {
  throw make_error(status, device, operation);
}

void check_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept {
  if (status == ANYPLACE_STATUS_OK) return;
  report(error_or_shortage([&] { return make_error(status, device, operation); }));
}

void mark_lost(DeviceState& device) noexcept {
  if (device.lost.exchange(true, std::memory_order_seq_cst)) return;
  bar_short_calls(&device);
  release_waiters_of(device);
}

void bar_short_calls(const DeviceState* device) noexcept {
  streams().bar(device);
  events().bar(device);
  kernels().bar(device);
}

// ---- Messages ------------------------------------------------------------------------------------------------------

void leave_message(std::int64_t vendor_code, const char* vendor_name, const char* text) noexcept {
  try {
    Message* const message = make_pending_message();
    if (message == nullptr) return;
    message->vendor_code = vendor_code;
    message->vendor_name = bounded(vendor_name, vendor_name_limit);
    message->text = bounded(text);
  } catch (...) {  // no memory for the message: the status alone has to do
  }
}

Message take_message() noexcept {
  if (pending_message == nullptr) return {};
  return std::exchange(*pending_message, Message());
}

// ---- What the core offers to backends ------------------------------------------------------------------------------
namespace {

/// The context is the Backend, or null before there is one.
std::string name_of(void* context) {
  return context == nullptr ? std::string("a backend") : static_cast<const Backend*>(context)->name;
}

void host_leave_message(void*, std::int64_t vendor_code, const char* vendor_name, const char* text) {
  leave_message(vendor_code, vendor_name, text);
}

void host_stream_fault(void* context, std::uint64_t cookie, anyplace_status status, std::int64_t vendor_code,
                       const char* vendor_name, const char* text) {
  // The backend's thread may hold locks of the backend's: whatever has to be destroyed is left to the service thread.
  const CallbackScope scope;
  try {
    Message message = take_message();
    if (text != nullptr) {
      message = {vendor_code, std::string(bounded(vendor_name, vendor_name_limit)), std::string(bounded(text))};
    }
    std::string place;
    if (const Pin<StreamState> stream = streams().try_pin(cookie)) {
      place = stream->device->place;
    } else {
      place = name_of(context);
    }
    record_fault(cookie, error_of(status, std::move(message), std::move(place), "asynchronous work"));
  } catch (...) {  // no memory to say which
    if (status == ANYPLACE_STATUS_DEVICE_LOST) {
      if (const Pin<StreamState> stream = streams().try_pin(cookie)) mark_lost(*stream->device);
    }
    record_fault(cookie, no_memory_error());
  }
}

void host_user_code_begin(void*) { begin_callback(); }

void host_user_code_end(void*) {
  if (in_callback()) end_callback();
}

void host_log(void* context, std::uint32_t level, const char* text) {
  if (!log_wanted()) return;
  try {
    const std::string line = fmt::format("anyplace: {}: {}: {}\n", name_of(context),
                                         level == ANYPLACE_LOG_WARNING ? "warning" : "info", one_line(bounded(text)));
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (...) {  // a line of the log is lost
  }
}

}  // namespace

const anyplace_host& host_table() noexcept {
  static const anyplace_host table = [] {
    anyplace_host made{};
    made.struct_size = sizeof(anyplace_host);
    made.abi_major = ANYPLACE_ABI_MAJOR;
    made.abi_minor = ANYPLACE_ABI_MINOR;
    made.leave_message = host_leave_message;
    made.stream_fault = host_stream_fault;
    made.user_code_begin = host_user_code_begin;
    made.user_code_end = host_user_code_end;
    made.log = host_log;
    return made;
  }();
  return table;
}

}  // namespace anyplace::detail
