// SPDX-License-Identifier: Apache-2.0
//
// The table follows the descriptions of ze_result_t in the Level Zero specification, core API. It has numbers instead
// of names, because older versions of ze_api.h lack the newer names.
#include "error.h"

#include <cstdio>

namespace anyplace::levelzero {
namespace {

#define STATUS(name) ANYPLACE_STATUS_##name

/// The rows are in the order of the numbers.
constexpr backend::ResultRow rows_of_results[] = {
    {0x00000001, "ZE_RESULT_NOT_READY", STATUS(NOT_READY), false, "not signalled yet"},
    {0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST", STATUS(DEVICE_LOST), true,
     "the device hung, was reset or removed, or its driver was updated"},
    {0x70000002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", STATUS(OUT_OF_MEMORY), false, "the host's memory is used up"},
    {0x70000003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", STATUS(OUT_OF_MEMORY), false,
     "the device's memory is used up"},
    {0x70000004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE", STATUS(INVALID_IMAGE), false, "the module couldn't be built"},
    {0x70000005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE", STATUS(INVALID_IMAGE), false, "the module couldn't be linked"},
    {0x70000006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET", STATUS(DEVICE_LOST), true, "the device has to be reset"},
    {0x70000007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE", STATUS(BACKEND_FAILED), false,
     "the device sleeps to save power"},
    {0x70010000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS", STATUS(BACKEND_FAILED), false,
     "this user may not do that; see who may open /dev/dri/renderD*"},
    {0x70010001, "ZE_RESULT_ERROR_NOT_AVAILABLE", STATUS(BACKEND_FAILED), false, "it is in use, or was removed"},
    {0x70020000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE", STATUS(LIBRARY_MISSING), false,
     "a library that the driver needs is missing"},
    {0x70020001, "ZE_RESULT_WARNING_DROPPED_DATA", STATUS(BACKEND_FAILED), false, "data may have been lost"},
    {0x78000001, "ZE_RESULT_ERROR_UNINITIALIZED", STATUS(NO_DRIVER), false, "no driver is initialised"},
    {0x78000002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION", STATUS(UNSUPPORTED), false,
     "a version that the driver doesn't know"},
    {0x78000003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE", STATUS(UNSUPPORTED), false, "the driver or device lacks this"},
    {0x78000004, "ZE_RESULT_ERROR_INVALID_ARGUMENT", STATUS(INVALID_ARGUMENT), false, "an argument is invalid"},
    {0x78000005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE", STATUS(INVALID_HANDLE), false, "a handle is null or invalid"},
    {0x78000006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE", STATUS(BACKEND_FAILED), false,
     "the device still uses the object"},
    {0x78000007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER", STATUS(INVALID_ARGUMENT), false, "a pointer is null"},
    {0x78000008, "ZE_RESULT_ERROR_INVALID_SIZE", STATUS(INVALID_ARGUMENT), false, "a size is invalid"},
    {0x78000009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE", STATUS(INVALID_ARGUMENT), false,
     "a size that the device doesn't support"},
    {0x7800000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT", STATUS(INVALID_ARGUMENT), false,
     "an alignment that the device doesn't support"},
    {0x7800000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT", STATUS(INVALID_ARGUMENT), false,
     "an event or fence is in a state that doesn't allow it"},
    {0x7800000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION", STATUS(INVALID_ARGUMENT), false,
     "a value or flag that isn't defined"},
    {0x7800000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION", STATUS(UNSUPPORTED), false,
     "a value or flag that the device doesn't support"},
    {0x7800000e, "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT", STATUS(UNSUPPORTED), false,
     "an image format that the device doesn't support"},
    {0x7800000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY", STATUS(INVALID_IMAGE), false,
     "a binary that isn't for this device"},
    {0x78000010, "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME", STATUS(INVALID_ARGUMENT), false,
     "the module has no such variable"},
    {0x78000011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME", STATUS(NO_SUCH_KERNEL), false, "the module has no such kernel"},
    {0x78000012, "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME", STATUS(NO_SUCH_KERNEL), false,
     "the module has no such function"},
    {0x78000013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION", STATUS(INVALID_ARGUMENT), false,
     "a block that the kernel or device can't have"},
    {0x78000014, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION", STATUS(INVALID_ARGUMENT), false,
     "a grid that the kernel or device can't have"},
    {0x78000015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX", STATUS(INVALID_ARGUMENT), false,
     "the kernel has no argument of that index"},
    {0x78000016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE", STATUS(INVALID_ARGUMENT), false,
     "the kernel's argument has another size"},
    {0x78000017, "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE", STATUS(INVALID_ARGUMENT), false,
     "a kernel attribute's value is invalid"},
    {0x78000018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED", STATUS(INVALID_IMAGE), false,
     "the module imports what no other was linked for"},
    {0x78000019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE", STATUS(INVALID_ARGUMENT), false,
     "the command list is of another type"},
    {0x7800001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS", STATUS(INVALID_ARGUMENT), false, "the regions overlap"},
    {0x7800001b, "ZE_RESULT_WARNING_ACTION_REQUIRED", STATUS(BACKEND_FAILED), false, "something has to be done first"},
    {0x7800001c, "ZE_RESULT_ERROR_INVALID_KERNEL_HANDLE", STATUS(INVALID_HANDLE), false,
     "the kernel's handle is invalid for the device"},
    {0x78000020, "ZE_RESULT_ERROR_SURVIVABILITY_MODE_DETECTED", STATUS(DEVICE_LOST), true,
     "the device only takes new firmware"},
    {0x7ffffffe, "ZE_RESULT_ERROR_UNKNOWN", STATUS(BACKEND_FAILED), false, "the driver doesn't say why"},
};

#undef STATUS

}  // namespace

std::span<const backend::ResultRow> ErrorCalls::rows() noexcept { return rows_of_results; }

std::string ErrorCalls::name_of(ze_result_t result) {
  if (const backend::ResultRow* const row = Results::row_of(result)) return row->name;
  char text[32];
  std::snprintf(text, sizeof(text), "ze_result_t 0x%08x", static_cast<unsigned>(result));
  return text;
}

std::string ErrorCalls::text_of(ze_result_t result) {
  const backend::ResultRow* const row = Results::row_of(result);
  return row == nullptr ? "a result that this backend has no text for" : row->text;
}

}  // namespace anyplace::levelzero
