// SPDX-License-Identifier: Apache-2.0
// Our declarations beside those of NCCL's header.
#include <nccl.h>

#include <catch2/catch.hpp>

#include "nccl/nccl_library.h"
#include "ranks/abi_compare.h"

namespace abi_nccl {

namespace ours = anyplace::nccl;

struct NoHandle {};
#define COMPARE_NCCL(name, required, result, parameters) \
  static_assert(abi_test::SameFunction<NoHandle, decltype(ours::NcclLibrary::name), decltype(&::name)>::value, #name);
ANYPLACE_NCCL_ENTRIES(COMPARE_NCCL)
#undef COMPARE_NCCL

TEST_CASE("Given NCCL's header then its numbers are those that are used") {
  CHECK(sizeof(ncclUniqueId) == sizeof(ours::NcclUniqueId));
  CHECK(int(ncclSuccess) == ours::nccl_success);
  CHECK(int(ncclUnhandledCudaError) == ours::nccl_unhandled_cuda_error);
  CHECK(int(ncclSystemError) == ours::nccl_system_error);
  CHECK(int(ncclInternalError) == ours::nccl_internal_error);
  CHECK(int(ncclInvalidArgument) == ours::nccl_invalid_argument);
  CHECK(int(ncclInvalidUsage) == ours::nccl_invalid_usage);
  CHECK(int(ncclRemoteError) == ours::nccl_remote_error);
  CHECK(int(ncclInProgress) == ours::nccl_in_progress);
  CHECK(int(ncclInt8) == ours::nccl_int8);
  CHECK(int(ncclUint8) == ours::nccl_uint8);
  CHECK(int(ncclInt32) == ours::nccl_int32);
  CHECK(int(ncclUint32) == ours::nccl_uint32);
  CHECK(int(ncclInt64) == ours::nccl_int64);
  CHECK(int(ncclUint64) == ours::nccl_uint64);
  CHECK(int(ncclFloat16) == ours::nccl_float16);
  CHECK(int(ncclFloat32) == ours::nccl_float32);
  CHECK(int(ncclFloat64) == ours::nccl_float64);
  CHECK(int(ncclBfloat16) == ours::nccl_bfloat16);
  CHECK(int(ncclSum) == ours::nccl_sum);
  CHECK(int(ncclProd) == ours::nccl_prod);
  CHECK(int(ncclMax) == ours::nccl_max);
  CHECK(int(ncclMin) == ours::nccl_min);
  CHECK(int(ncclAvg) == ours::nccl_avg);
}

}  // namespace abi_nccl
