// SPDX-License-Identifier: Apache-2.0
//
// Failures: how what goes wrong leaves an entry of the adapter. Inside, it is an exception; across the C boundary goes
// a ur_result_t, and the text is kept for urAdapterGetLastError, one of each thread's own.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <unified-runtime/ur_api.h>

namespace anyplace_ur {

/// A result that an entry returns, with what is wrong.
class Failure : public std::runtime_error {
 public:
  Failure(ur_result_t result, const std::string& text) : std::runtime_error(text), result_(result) {}
  ur_result_t result() const noexcept { return result_; }

 private:
  ur_result_t result_;
};

/// What urAdapterGetLastError tells the calling thread.
struct LastError {
  std::string text;
  int32_t code = UR_RESULT_SUCCESS;  ///< the ur_result_t that the failure would have without its text
  bool is_specific = false;          ///< it was returned as UR_RESULT_ERROR_ADAPTER_SPECIFIC, and nobody asked yet
};
LastError& last_error() noexcept;

/// The result for the exception that is being handled. Keeps its text, and writes a line to standard error if
/// ANYPLACE_UR_LOG says so. Errors of anyplace become UR_RESULT_ERROR_ADAPTER_SPECIFIC, which makes the SYCL runtime
/// ask for the text and put it into its exception, unless a result of UR's own says all there is to say.
ur_result_t result_of_exception(const char* entry) noexcept;

/// Runs the body of an entry. The body returns nothing or a ur_result_t.
template <class Body>
ur_result_t guarded(const char* entry, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return UR_RESULT_SUCCESS;
    } else {
      return body();
    }
  } catch (...) {
    return result_of_exception(entry);
  }
}

inline void require(bool condition, ur_result_t otherwise, const char* text) {
  if (!condition) throw Failure(otherwise, text);
}
template <class Handle>
void require_handle(Handle handle) {
  if (handle == nullptr) throw Failure(UR_RESULT_ERROR_INVALID_NULL_HANDLE, "a handle that must be given is null");
}
inline void require_pointer(const void* pointer) {
  if (pointer == nullptr) throw Failure(UR_RESULT_ERROR_INVALID_NULL_POINTER, "a pointer that must be given is null");
}

}  // namespace anyplace_ur
