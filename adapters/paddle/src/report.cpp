// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <unistd.h>

#include <new>
#include <string>

#include <anyplace/error.h>

#include "device_type.h"

namespace anyplace_paddle {
namespace {

/// Left alone where memory for it runs out: an older text is better than none.
thread_local std::string last_error;

C_Status status_of(anyplace::ErrorCode code) noexcept {
  switch (code) {
    case anyplace::ErrorCode::out_of_memory:
      return C_FAILED;
    case anyplace::ErrorCode::invalid_argument:
    case anyplace::ErrorCode::invalid_handle:
    case anyplace::ErrorCode::no_such_device:
    case anyplace::ErrorCode::unsupported:
    case anyplace::ErrorCode::not_permitted:
    case anyplace::ErrorCode::forked:
      return C_ERROR;
    default:
      return C_INTERNAL_ERROR;
  }
}

void report_at(const char* entry, C_Device device, std::string_view text, Repeated repeated) {
  std::string line = entry;
  if (device != nullptr) line += " of " + device_type() + ":" + std::to_string(device->id);
  line += ": ";
  line += text;
  report(line, repeated);
}

}  // namespace

void report(std::string_view text, Repeated repeated) noexcept {
  try {
    if (repeated == Repeated::not_said && last_error == text) return;
    last_error = text;
    std::string line = "anyplace: paddle: ";
    line += text;
    line += '\n';
    // One system call, so that lines of several threads don't mix.
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::bad_alloc&) {
    constexpr std::string_view line = "anyplace: paddle: no memory is left to say what went wrong\n";
    (void)!::write(STDERR_FILENO, line.data(), line.size());
  }
}

C_Status report_exception(const char* entry, C_Device device, Repeated repeated) noexcept try {
  try {
    throw;
  } catch (const anyplace::Error& error) {
    report_at(entry, device, error.what(), repeated);
    return status_of(error.code());
  } catch (const std::bad_alloc&) {
    report_at(entry, device, "host memory ran out (std::bad_alloc)", repeated);
    return C_FAILED;
  } catch (const std::exception& error) {
    report_at(entry, device, error.what(), repeated);
  } catch (...) {
    report_at(entry, device, "an exception of an unknown type", repeated);
  }
  return C_INTERNAL_ERROR;
} catch (...) {
  report("no memory is left to say what went wrong");
  return C_INTERNAL_ERROR;
}

bool is_nothing_left() noexcept {
  try {
    throw;
  } catch (const anyplace::Error& error) {
    return error.code() == anyplace::ErrorCode::forked || error.code() == anyplace::ErrorCode::shut_down ||
           error.code() == anyplace::ErrorCode::device_lost;
  } catch (...) {
    return false;
  }
}

}  // namespace anyplace_paddle

/// The text of the calling thread's last failure in the plug-in, "" if there was none. Valid until its next one.
extern "C" __attribute__((visibility("default"))) const char* anyplace_paddle_last_error() {
  return anyplace_paddle::last_error.c_str();
}
/// Forgets it, so that what is read later belongs to what was done in between.
extern "C" __attribute__((visibility("default"))) void anyplace_paddle_clear_error() {
  anyplace_paddle::last_error.clear();
}
