// SPDX-License-Identifier: Apache-2.0
// What ROCTX's library exports, as AMD documents it ("ROCTx developer API" of rocprofiler-sdk, "ROC-TX library
// specification" of roctracer): both libraries export the same functions.
#pragma once

#include <cstdint>

namespace anyplace::detail::roctx {

using RangeId = std::uint64_t;

/// X(name, whether it must be there, result, parameters)
#define ANYPLACE_ROCTX_ENTRIES(X)                \
  X(roctxMarkA, 1, void, (const char*))          \
  X(roctxRangePushA, 1, int, (const char*))      \
  X(roctxRangePop, 1, int, ())                   \
  X(roctxRangeStartA, 1, RangeId, (const char*)) \
  X(roctxRangeStop, 1, void, (RangeId))          \
  X(roctxNameOsThread, 0, int, (const char*))

}  // namespace anyplace::detail::roctx
