/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of status codes.
 *
 * Every status that crosses the plugin boundary and every anyplace::ErrorCode is generated from ANYPLACE_STATUS_LIST,
 * so a code, its name and its text can't drift apart. Compiles as C11 and as C++.
 *
 * Numbers are part of the ABI: they are never changed or reused. New ones go at the end.
 */
#pragma once

#include <stdint.h>

/* X(UPPER, lower, number, what it means) */
#define ANYPLACE_STATUS_LIST(X)                                                                  \
  X(OK, ok, 0, "success")                                                                        \
  X(INVALID_ARGUMENT, invalid_argument, 1, "an argument is outside what the call accepts")       \
  X(INVALID_HANDLE, invalid_handle, 2, "the handle is null or was destroyed")                    \
  X(NO_SUCH_BACKEND, no_such_backend, 3, "no plugin of that name could be used")                 \
  X(NO_SUCH_DEVICE, no_such_device, 4, "the backend has no device of that index or selector")    \
  X(OUT_OF_MEMORY, out_of_memory, 5, "the memory asked for is not to be had")                    \
  X(UNSUPPORTED, unsupported, 6, "the backend or device lacks this capability")                  \
  X(NOT_PERMITTED, not_permitted, 7, "not allowed from inside a host function or kernel")        \
  X(NOT_READY, not_ready, 8, "the work asked about has not completed")                           \
  X(TIMING_DISABLED, timing_disabled, 9, "the event was made without timing")                    \
  X(NOT_RECORDED, not_recorded, 10, "the event was never recorded")                              \
  X(TIMEOUT, timeout, 11, "the time given ran out; the work goes on")                            \
  X(DEVICE_LOST, device_lost, 12, "the device failed for good in this process")                  \
  X(FORKED, forked, 13, "the process forked after a backend was initialised")                    \
  X(INVALID_IMAGE, invalid_image, 14, "the module image is not one that this device takes")      \
  X(NO_SUCH_KERNEL, no_such_kernel, 15, "the module has no kernel of that name")                 \
  X(HOST_FUNCTION_FAILED, host_function_failed, 16, "a host function threw")                     \
  X(KERNEL_FAILED, kernel_failed, 17, "a kernel failed while it ran")                            \
  X(PLUGIN_REFUSED, plugin_refused, 18, "a plugin file was found but can't be used")             \
  X(LIBRARY_MISSING, library_missing, 19, "the vendor's library is not installed or too old")    \
  X(NO_DRIVER, no_driver, 20, "the vendor's driver is not running or too old")                   \
  X(BACKEND_FAILED, backend_failed, 21, "the vendor's call failed")                              \
  X(INTERNAL, internal, 22, "anyplace broke a promise of its own; please report it")             \
  X(SHUT_DOWN, shut_down, 23, "the process is exiting and the backends are shut down")           \
  X(NO_SUCH_GLOBAL, no_such_global, 24, "the module has no variable of that name")               \
  X(CAPTURING, capturing, 25, "not allowed while a stream is captured")                          \
  X(CAPTURE_INVALIDATED, capture_invalidated, 26, "a call that isn't allowed ended the capture") \
  X(PEER_GONE, peer_gone, 27, "the process at the other end has ended")                          \
  X(COMPILE_FAILED, compile_failed, 28, "the source of kernels can't be compiled")

enum {
#define ANYPLACE_STATUS_ENUM(upper, lower, number, text) ANYPLACE_STATUS_##upper = (number),
  ANYPLACE_STATUS_LIST(ANYPLACE_STATUS_ENUM)
#undef ANYPLACE_STATUS_ENUM
};

/* One of ANYPLACE_STATUS_*. A fixed-width integer, not the enum, because it crosses the boundary. */
typedef int32_t anyplace_status;
