// SPDX-License-Identifier: Apache-2.0
//
// The out-of-line part of call.h: how refusals and statuses become Errors.
#include "runtime/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "anyplace/backend/thread_sanitizer.h"
#include "runtime/shortage.h"
#include "runtime/subsystem.h"
#include "runtime/text.h"
#include "runtime/thread_end.h"

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

/// The message that a backend left on this thread. It is freed when the thread ends; a message left after that is
/// dropped.
constinit thread_local Message* pending_message = nullptr;
void free_message() noexcept { delete std::exchange(pending_message, nullptr); }
constinit thread_local ThreadEndTask message_end{free_message};

Message* make_pending_message() {
  if (pending_message == nullptr && at_thread_end(message_end)) pending_message = new Message;
  return pending_message;
}

}  // namespace

constinit thread_local unsigned DropsErrors::depth = 0;

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
           "the parent only, fork before a backend that is there is first asked for, or call exec in the child");
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
  if (!DropsErrors::here()) device.loss_is_told = true;
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
  // A text that comes with a vendor's code or name is the vendor's. Otherwise the backend itself wrote it.
  const bool from_vendor = message.vendor_code != 0 || !message.vendor_name.empty();
  details.vendor_code = message.vendor_code;
  details.vendor_name = std::move(message.vendor_name);
  if (from_vendor) {
    details.vendor_text = std::move(message.text);
  } else if (status == ANYPLACE_STATUS_KERNEL_FAILED || status == ANYPLACE_STATUS_HOST_FUNCTION_FAILED) {
    // The text comes from an exception of the user's code, so its lines aren't problem, remedy and see.
    details.text = std::move(message.text);
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
  } catch (...) {  // there is no memory for the Error
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
  if (status == ANYPLACE_STATUS_DEVICE_LOST && !DropsErrors::here()) device.loss_is_told = true;
  throw make_error(status, device, operation);
}

void check_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept {
  if (status == ANYPLACE_STATUS_OK) return;
  if (status == ANYPLACE_STATUS_DEVICE_LOST) device.loss_is_told = true;
  report(error_or_shortage([&] { return make_error(status, device, operation); }));
}

void check_given_back(anyplace_status status, DeviceState& device, const char* operation) noexcept {
  if (status == ANYPLACE_STATUS_OK) return;
  const bool is_loss = status == ANYPLACE_STATUS_DEVICE_LOST;
  if (device.lost.load(std::memory_order_relaxed) && (!is_loss || device.loss_is_told)) {
    static_cast<void>(take_message());
  } else {
    check_quietly(status, device, operation);
  }
}

void note_quietly(anyplace_status status, DeviceState& device, const char* operation) noexcept {
  if (status == ANYPLACE_STATUS_OK) return;
  try {
    static_cast<void>(make_error(status, device, operation));
  } catch (...) {  // there is no memory for the Error; make_error() marked the device lost if it is
  }
}

void report_current(const std::string& place, const char* operation) noexcept {
  try {
    ErrorDetails details;
    details.code = ErrorCode::host_function_failed;
    details.place = place;
    details.operation = operation;
    try {
      throw;
    } catch (const Error& error) {
      report(error);
      return;
    } catch (const std::exception& exception) {
      details.text = fmt::format("it threw: {}", exception.what());
    } catch (...) {
      details.text = "it threw something that is no std::exception";
    }
    report(Error(std::move(details)));
  } catch (...) {  // there is no memory for the Error; nothing is reported
  }
}

void mark_lost(DeviceState& device) noexcept {
  if (device.lost.exchange(true, std::memory_order_seq_cst)) return;
  close_fast_path(&device);
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->device_lost != nullptr) subsystem->device_lost(device);
  }
}

void close_fast_path(const DeviceState* device) noexcept {
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->close_fast_path != nullptr) subsystem->close_fast_path(device);
  }
}

// ---- Messages ------------------------------------------------------------------------------------------------------

void leave_message(std::int64_t vendor_code, const char* vendor_name, const char* text) noexcept {
  try {
    Message* const message = make_pending_message();
    if (message == nullptr) return;
    message->vendor_code = vendor_code;
    message->vendor_name = bounded(vendor_name, vendor_name_limit);
    message->text = bounded(text);
  } catch (...) {  // without memory for the message, the status alone is reported
  }
}

Message take_message() noexcept {
  if (pending_message == nullptr) return {};
  return std::exchange(*pending_message, Message());
}

Error renamed(const Error& error, const char* operation) {
  ErrorDetails details;
  details.code = error.code();
  details.place = error.place();
  details.operation = operation;
  details.text = error.problem();
  details.remedy = error.remedy();
  details.see = error.see();
  details.vendor_code = error.vendor_code();
  details.vendor_name = error.vendor_name();
  details.vendor_text = error.vendor_text();
  details.memory = error.memory();
  return Error(std::move(details));
}

}  // namespace anyplace::detail
