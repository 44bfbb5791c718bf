// SPDX-License-Identifier: Apache-2.0
#include "failure.h"

#include <new>

#include <anyplace/error.h>

#include "log.h"

namespace anyplace_ur {

LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

namespace {

/// The result that says what the code says, were there no text.
ur_result_t closest_result(anyplace::ErrorCode code) noexcept {
  switch (code) {
    case anyplace::ErrorCode::invalid_argument:
      return UR_RESULT_ERROR_INVALID_VALUE;
    case anyplace::ErrorCode::invalid_handle:
      return UR_RESULT_ERROR_INVALID_ARGUMENT;
    case anyplace::ErrorCode::no_such_backend:
    case anyplace::ErrorCode::no_such_device:
      return UR_RESULT_ERROR_DEVICE_NOT_FOUND;
    case anyplace::ErrorCode::out_of_memory:
      return UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    case anyplace::ErrorCode::unsupported:
      return UR_RESULT_ERROR_UNSUPPORTED_FEATURE;
    case anyplace::ErrorCode::device_lost:
      return UR_RESULT_ERROR_DEVICE_LOST;
    case anyplace::ErrorCode::invalid_image:
      return UR_RESULT_ERROR_INVALID_BINARY;
    case anyplace::ErrorCode::no_such_kernel:
      return UR_RESULT_ERROR_INVALID_KERNEL_NAME;
    case anyplace::ErrorCode::shut_down:
      return UR_RESULT_ERROR_UNINITIALIZED;
    case anyplace::ErrorCode::not_permitted:
      return UR_RESULT_ERROR_INVALID_OPERATION;
    default:
      return UR_RESULT_ERROR_UNKNOWN;
  }
}

/// Results that callers act on, so that they can't be hidden behind UR_RESULT_ERROR_ADAPTER_SPECIFIC.
bool is_acted_on(ur_result_t result) noexcept {
  return result == UR_RESULT_ERROR_UNSUPPORTED_FEATURE || result == UR_RESULT_ERROR_INVALID_BINARY ||
         result == UR_RESULT_ERROR_INVALID_KERNEL_NAME || result == UR_RESULT_ERROR_UNINITIALIZED ||
         result == UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

ur_result_t keep(const char* entry, ur_result_t result, ur_result_t closest, const char* text) noexcept {
  try {
    LastError& error = last_error();
    error.text = text;
    error.code = closest;
    error.is_specific = result == UR_RESULT_ERROR_ADAPTER_SPECIFIC;
    // SYCL's scheduler tells the result alone, so the figures of this one would be lost.
    if (result == UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY) log_always(std::string(entry) + ": " + text);
    log_failure(entry, result, text);
  } catch (...) {
    // There is no memory for the text: the result alone must do.
  }
  return result;
}

}  // namespace

ur_result_t result_of_exception(const char* entry) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return keep(entry, failure.result(), failure.result(), failure.what());
  } catch (const anyplace::Error& error) {
    const ur_result_t closest = closest_result(error.code());
    return keep(entry, is_acted_on(closest) ? closest : UR_RESULT_ERROR_ADAPTER_SPECIFIC, closest, error.what());
  } catch (const std::bad_alloc&) {
    return keep(entry, UR_RESULT_ERROR_OUT_OF_HOST_MEMORY, UR_RESULT_ERROR_OUT_OF_HOST_MEMORY,
                "the host has no memory left");
  } catch (const std::exception& error) {
    return keep(entry, UR_RESULT_ERROR_UNKNOWN, UR_RESULT_ERROR_UNKNOWN, error.what());
  } catch (...) {
    return keep(entry, UR_RESULT_ERROR_UNKNOWN, UR_RESULT_ERROR_UNKNOWN, "an exception of unknown type");
  }
}

}  // namespace anyplace_ur
