// SPDX-License-Identifier: Apache-2.0
//
// The table follows the descriptions of CUresult in NVIDIA's driver API reference. Results are numbers here, because
// cuda.h of an older toolkit lacks the newer names.
#include "error.h"

namespace anyplace::cuda {
namespace {

#define STATUS(name) ANYPLACE_STATUS_##name

/// The rows are in the order of the numbers.
constexpr backend::ResultRow rows_of_errors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", STATUS(INVALID_ARGUMENT), false},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", STATUS(OUT_OF_MEMORY), false},
    {4, "CUDA_ERROR_DEINITIALIZED", STATUS(SHUT_DOWN), false},
    {34, "CUDA_ERROR_STUB_LIBRARY", STATUS(NO_DRIVER), false},
    {35, "cudaErrorInsufficientDriver", STATUS(NO_DRIVER), false},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", STATUS(UNSUPPORTED), false},
    {100, "CUDA_ERROR_NO_DEVICE", STATUS(NO_SUCH_DEVICE), false},
    {101, "CUDA_ERROR_INVALID_DEVICE", STATUS(NO_SUCH_DEVICE), false},
    {200, "CUDA_ERROR_INVALID_IMAGE", STATUS(INVALID_IMAGE), false},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", STATUS(INVALID_IMAGE), false},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", STATUS(DEVICE_LOST), true},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", STATUS(UNSUPPORTED), false},
    {218, "CUDA_ERROR_INVALID_PTX", STATUS(INVALID_IMAGE), false},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", STATUS(DEVICE_LOST), true},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", STATUS(LIBRARY_MISSING), false},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", STATUS(INVALID_IMAGE), false},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", STATUS(INVALID_IMAGE), false},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", STATUS(UNSUPPORTED), false},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", STATUS(INVALID_IMAGE), false},
    {226, "CUDA_ERROR_CONTAINED", STATUS(DEVICE_LOST), true},
    {300, "CUDA_ERROR_INVALID_SOURCE", STATUS(INVALID_IMAGE), false},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", STATUS(INVALID_IMAGE), false},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", STATUS(INVALID_IMAGE), false},
    {400, "CUDA_ERROR_INVALID_HANDLE", STATUS(INVALID_HANDLE), false},
    {600, "CUDA_ERROR_NOT_READY", STATUS(NOT_READY), false},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", STATUS(DEVICE_LOST), true},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", STATUS(INVALID_ARGUMENT), false},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", STATUS(DEVICE_LOST), true},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", STATUS(DEVICE_LOST), true},
    {710, "CUDA_ERROR_ASSERT", STATUS(DEVICE_LOST), true},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", STATUS(INVALID_ARGUMENT), false},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", STATUS(INVALID_ARGUMENT), false},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", STATUS(DEVICE_LOST), true},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", STATUS(DEVICE_LOST), true},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", STATUS(DEVICE_LOST), true},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", STATUS(DEVICE_LOST), true},
    {718, "CUDA_ERROR_INVALID_PC", STATUS(DEVICE_LOST), true},
    {719, "CUDA_ERROR_LAUNCH_FAILED", STATUS(DEVICE_LOST), true},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", STATUS(INVALID_ARGUMENT), false},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", STATUS(DEVICE_LOST), true},
    {800, "CUDA_ERROR_NOT_PERMITTED", STATUS(NOT_PERMITTED), false},
    {801, "CUDA_ERROR_NOT_SUPPORTED", STATUS(UNSUPPORTED), false},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", STATUS(NO_DRIVER), false},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", STATUS(NO_DRIVER), false},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", STATUS(NO_DRIVER), false},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", STATUS(NO_DRIVER), false},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", STATUS(NO_DRIVER), false},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", STATUS(DEVICE_LOST), true},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", STATUS(DEVICE_LOST), true},
};

#undef STATUS

}  // namespace

std::span<const backend::ResultRow> ErrorCalls::rows() noexcept { return rows_of_errors; }

std::string ErrorCalls::name_of(CUresult result) {
  const char* name = nullptr;
  if (driver().GetErrorName != nullptr && driver().GetErrorName(result, &name) == CUDA_SUCCESS && name != nullptr) {
    return name;
  }
  const backend::ResultRow* const row = Results::row_of(result);
  return row == nullptr ? "CUresult " + std::to_string(static_cast<int>(result)) : row->name;
}

std::string ErrorCalls::text_of(CUresult result) {
  const char* text = nullptr;
  if (driver().GetErrorString == nullptr || driver().GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) {
    return "";
  }
  return text;
}

}  // namespace anyplace::cuda
