// SPDX-License-Identifier: Apache-2.0
//
// Results: maps a vendor's result codes, by one table, to the statuses and exceptions of anyplace.
//
// `Vendor` supplies the codes. All its members are static:
//
//   Result                                        type, a number or an enumeration; Result{} is success
//   std::span<const ResultRow> rows() noexcept    in the order of the numbers
//   std::string name_of(Result)                   "CUDA_ERROR_OUT_OF_MEMORY"
//   std::string text_of(Result)                   what the driver says of it in words; "" if nothing
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "../device_backend.h"

namespace anyplace::backend {

/// What a result of a vendor's means.
struct ResultRow {
  int result;              ///< the vendor's number
  const char* name;        ///< the vendor's name of it
  anyplace_status status;  ///< the status that an entry returns for it
  bool sticky;             ///< the device can't be used any more after it
  const char* text = "";   ///< for a vendor whose driver has no texts
};

/// The result of a vendor's call, and the call's name, such as "cuMemMap".
template <class Result>
struct Called {
  Result result;     ///< what the call returned
  const char* call;  ///< the name of the call, which lives as long as the process
};

/// Throws a Failure without a vendor's code; the text is the backend's own.
[[noreturn]] inline void refuse(anyplace_status status, const std::string& text) { throw Failure(status, text); }

/// What a vendor's results mean, by a table that is sorted by number.
template <class Vendor>
struct Results {
  using Result = typename Vendor::Result;

  /// The row of a result; null if the table has none.
  static const ResultRow* row_of(Result result) noexcept {
    const auto rows = Vendor::rows();
    const auto number = static_cast<int>(result);
    const auto found = std::lower_bound(rows.begin(), rows.end(), number,
                                        [](const ResultRow& row, int wanted) { return row.result < wanted; });
    return found != rows.end() && found->result == number ? &*found : nullptr;
  }
  /// The status of a result that isn't success; BACKEND_FAILED if the table doesn't have it.
  static anyplace_status status_of(Result result) noexcept {
    const ResultRow* const row = row_of(result);
    return row == nullptr ? ANYPLACE_STATUS_BACKEND_FAILED : row->status;
  }
  /// Whether the device can't be used any more after such a result.
  static bool is_sticky(Result result) noexcept {
    const ResultRow* const row = row_of(result);
    return row != nullptr && row->sticky;
  }
  /// The vendor's name of a result.
  static std::string name_of(Result result) { return Vendor::name_of(result); }
  /// The vendor's text about a result; "" if there is none.
  static std::string text_of(Result result) { return Vendor::text_of(result); }

  /// Throws a Failure for the result of `call`. `more` is added to the driver's own text.
  [[noreturn]] static void fail(Result result, const char* call, anyplace_status status, const std::string& more = {}) {
    const std::string said = text_of(result);
    std::string text = std::string(call) + (said.empty() ? " failed" : ": " + said);
    if (!more.empty()) text += "; " + more;
    throw Failure(status, text, static_cast<std::int64_t>(result), name_of(result));
  }
  /// Throws a Failure for the result of `call`, with the status that the table has.
  [[noreturn]] static void fail(Result result, const char* call) { fail(result, call, status_of(result)); }

  /// Throws if a call failed that belongs to no device.
  static void check(Result result, const char* call) {
    if (result != Result{}) [[unlikely]]
      fail(result, call);
  }
};

}  // namespace anyplace::backend
