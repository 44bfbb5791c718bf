// SPDX-License-Identifier: Apache-2.0
//
// The table follows the comments on hipError_t in AMD's hip_runtime_api.h, whose numbers are the same from HIP 5 to 7.
// Results are numbers here, because the header of an older release lacks the newer names.
//
// The results that say that a kernel or the hardware failed are sticky. HIP promises less than CUDA about what still
// works after them, and on most systems the runtime ends the process at such a fault before a call could report it.
#include "error.h"

namespace anyplace::hip {
namespace {

#define STATUS(name) ANYPLACE_STATUS_##name

/// The rows are in the order of the numbers.
constexpr backend::ResultRow rows_of_errors[] = {
    {1, "hipErrorInvalidValue", STATUS(INVALID_ARGUMENT), false},
    {2, "hipErrorOutOfMemory", STATUS(OUT_OF_MEMORY), false},
    {3, "hipErrorNotInitialized", STATUS(NO_DRIVER), false},
    {4, "hipErrorDeinitialized", STATUS(SHUT_DOWN), false},
    {9, "hipErrorInvalidConfiguration", STATUS(INVALID_ARGUMENT), false},
    {12, "hipErrorInvalidPitchValue", STATUS(INVALID_ARGUMENT), false},
    {17, "hipErrorInvalidDevicePointer", STATUS(INVALID_ARGUMENT), false},
    {21, "hipErrorInvalidMemcpyDirection", STATUS(INVALID_ARGUMENT), false},
    {35, "hipErrorInsufficientDriver", STATUS(NO_DRIVER), false},
    {53, "hipErrorPriorLaunchFailure", STATUS(DEVICE_LOST), true},
    {98, "hipErrorInvalidDeviceFunction", STATUS(INVALID_ARGUMENT), false},
    {100, "hipErrorNoDevice", STATUS(NO_SUCH_DEVICE), false},
    {101, "hipErrorInvalidDevice", STATUS(NO_SUCH_DEVICE), false},
    {200, "hipErrorInvalidImage", STATUS(INVALID_IMAGE), false},
    {209, "hipErrorNoBinaryForGpu", STATUS(INVALID_IMAGE), false},
    {214, "hipErrorECCNotCorrectable", STATUS(DEVICE_LOST), true},
    {217, "hipErrorPeerAccessUnsupported", STATUS(UNSUPPORTED), false},
    {218, "hipErrorInvalidKernelFile", STATUS(INVALID_IMAGE), false},
    {300, "hipErrorInvalidSource", STATUS(INVALID_IMAGE), false},
    {302, "hipErrorSharedObjectSymbolNotFound", STATUS(INVALID_IMAGE), false},
    {303, "hipErrorSharedObjectInitFailed", STATUS(INVALID_IMAGE), false},
    {400, "hipErrorInvalidHandle", STATUS(INVALID_HANDLE), false},
    {600, "hipErrorNotReady", STATUS(NOT_READY), false},
    {700, "hipErrorIllegalAddress", STATUS(DEVICE_LOST), true},
    {701, "hipErrorLaunchOutOfResources", STATUS(INVALID_ARGUMENT), false},
    {702, "hipErrorLaunchTimeOut", STATUS(DEVICE_LOST), true},
    {709, "hipErrorContextIsDestroyed", STATUS(INVALID_HANDLE), false},
    {710, "hipErrorAssert", STATUS(DEVICE_LOST), true},
    {712, "hipErrorHostMemoryAlreadyRegistered", STATUS(INVALID_ARGUMENT), false},
    {713, "hipErrorHostMemoryNotRegistered", STATUS(INVALID_ARGUMENT), false},
    {719, "hipErrorLaunchFailure", STATUS(DEVICE_LOST), true},
    {720, "hipErrorCooperativeLaunchTooLarge", STATUS(INVALID_ARGUMENT), false},
    {801, "hipErrorNotSupported", STATUS(UNSUPPORTED), false},
    {1052, "hipErrorRuntimeMemory", STATUS(OUT_OF_MEMORY), false},
    {1054, "hipErrorTbd", STATUS(UNSUPPORTED), false},
};

#undef STATUS

}  // namespace

std::span<const backend::ResultRow> ErrorCalls::rows() noexcept { return rows_of_errors; }

bool is_unimplemented(hipError_t result) noexcept {
  constexpr int to_be_done = 1054;
  return result == hipErrorNotSupported || static_cast<int>(result) == to_be_done;
}

std::string ErrorCalls::name_of(hipError_t result) {
  if (const backend::ResultRow* const row = Results::row_of(result)) return row->name;
  const char* const name = driver().GetErrorName == nullptr ? nullptr : driver().GetErrorName(result);
  // HIP returns the name "unknown" also for numbers that it doesn't know, where the number says more.
  const bool known =
      name != nullptr && *name != '\0' && (result == hipErrorUnknown || std::string(name) != "hipErrorUnknown");
  return known ? name : "hipError_t " + std::to_string(static_cast<int>(result));
}

std::string ErrorCalls::text_of(hipError_t result) {
  const char* const text = driver().GetErrorString == nullptr ? nullptr : driver().GetErrorString(result);
  const bool says_more = text != nullptr && name_of(result) != text && std::string(text) != "hipErrorUnknown";
  return says_more ? text : "";  // HIP 5 has no text but the name
}

}  // namespace anyplace::hip
