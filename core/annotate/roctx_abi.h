// SPDX-License-Identifier: Apache-2.0
// The functions that ROCTX's library exports, as AMD documents them ("ROCTx developer API" of rocprofiler-sdk, "ROC-TX
// library specification" of roctracer). Both libraries export the same.
#pragma once

#include <cstdint>

namespace anyplace::detail::roctx {

using RangeId = std::uint64_t;

/// The functions: X(name, whether it must be there, result, parameters).
#define ANYPLACE_ROCTX_ENTRIES(X)                \
  X(roctxMarkA, 1, void, (const char*))          \
  X(roctxRangePushA, 1, int, (const char*))      \
  X(roctxRangePop, 1, int, ())                   \
  X(roctxRangeStartA, 1, RangeId, (const char*)) \
  X(roctxRangeStop, 1, void, (RangeId))          \
  X(roctxNameOsThread, 0, int, (const char*))

}  // namespace anyplace::detail::roctx
