// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL library, opened at run time: api().Flush(queue) is clFlush(queue). Nothing here knows what anyplace does
// with it. A machine without OpenCL therefore gets a reason instead of a link error.
//
// Also the two things that every call needs: check(), which turns an error code into a Failure with OpenCL's own name
// for it, and Ref, which owns one reference of an OpenCL object.
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>

#include <cstdint>
#include <string>
#include <utility>

#include "anyplace/backend/device_backend.h"

namespace opencl_backend {

/// What is used of OpenCL, all of it there since version 2.0.
#define OPENCL_CALLS(X)                     \
  X(GetPlatformIDs)                         \
  X(GetPlatformInfo)                        \
  X(GetDeviceIDs)                           \
  X(GetDeviceInfo)                          \
  X(GetExtensionFunctionAddressForPlatform) \
  X(CreateContext)                          \
  X(ReleaseContext)                         \
  X(RetainContext)                          \
  X(CreateCommandQueueWithProperties)       \
  X(GetCommandQueueInfo)                    \
  X(RetainCommandQueue)                     \
  X(ReleaseCommandQueue)                    \
  X(Flush)                                  \
  X(CreateUserEvent)                        \
  X(SetUserEventStatus)                     \
  X(SetEventCallback)                       \
  X(WaitForEvents)                          \
  X(GetEventInfo)                           \
  X(GetEventProfilingInfo)                  \
  X(RetainEvent)                            \
  X(ReleaseEvent)                           \
  X(EnqueueMarkerWithWaitList)              \
  X(EnqueueBarrierWithWaitList)             \
  X(SVMAlloc)                               \
  X(SVMFree)                                \
  X(EnqueueSVMMemcpy)                       \
  X(EnqueueSVMMemFill)                      \
  X(CreateProgramWithSource)                \
  X(BuildProgram)                           \
  X(GetProgramInfo)                         \
  X(GetProgramBuildInfo)                    \
  X(RetainProgram)                          \
  X(ReleaseProgram)                         \
  X(CreateKernel)                           \
  X(GetKernelInfo)                          \
  X(GetKernelArgInfo)                       \
  X(GetKernelWorkGroupInfo)                 \
  X(RetainKernel)                           \
  X(ReleaseKernel)                          \
  X(SetKernelArg)                           \
  X(SetKernelArgSVMPointer)                 \
  X(EnqueueNDRangeKernel)

/// What is used where it is there: null where the loader is older than OpenCL 2.1.
#define OPENCL_OPTIONAL_CALLS(X) X(CreateProgramWithIL)

struct Api {
#define OPENCL_POINTER(name) decltype(&::cl##name) name = nullptr;
  OPENCL_CALLS(OPENCL_POINTER)
  OPENCL_OPTIONAL_CALLS(OPENCL_POINTER)
#undef OPENCL_POINTER
};

/// Opens libOpenCL.so.1. Throws LIBRARY_MISSING, saying what to install, if it isn't there or is older than OpenCL 2.0.
/// Called once, before anything else here.
void load_api();
const Api& api() noexcept;

/// "CL_OUT_OF_RESOURCES"; "" for a code that no OpenCL header has.
const char* error_name(cl_int code) noexcept;

/// Throws a Failure of `status`, with OpenCL's code and its name if there is one. Not an overload of fail_call: a
/// status and a code are the same type.
[[noreturn]] void refuse(anyplace_status status, const std::string& text, cl_int code = CL_SUCCESS);
/// The same for a call that returned `code`, with the status that fits it.
[[noreturn]] void fail_call(cl_int code, const char* call);

inline void check(cl_int code, const char* call) {
  if (code != CL_SUCCESS) fail_call(code, call);
}

inline void retain(cl_context object) noexcept { api().RetainContext(object); }
inline void retain(cl_command_queue object) noexcept { api().RetainCommandQueue(object); }
inline void retain(cl_event object) noexcept { api().RetainEvent(object); }
inline void retain(cl_program object) noexcept { api().RetainProgram(object); }
inline void retain(cl_kernel object) noexcept { api().RetainKernel(object); }
inline void release(cl_context object) noexcept { api().ReleaseContext(object); }
inline void release(cl_command_queue object) noexcept { api().ReleaseCommandQueue(object); }
inline void release(cl_event object) noexcept { api().ReleaseEvent(object); }
inline void release(cl_program object) noexcept { api().ReleaseProgram(object); }
inline void release(cl_kernel object) noexcept { api().ReleaseKernel(object); }

/// Owns one reference of an OpenCL object, or none.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  /// Takes the reference over that the caller has.
  explicit Ref(T object) noexcept : object_(object) {}
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) retain(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) release(object_);
  }

  T get() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Where a call that makes an object puts it. Only for an empty Ref.
  T* out() noexcept { return &object_; }

 private:
  T object_ = nullptr;
};

using Context = Ref<cl_context>;
using Queue = Ref<cl_command_queue>;
using EventRef = Ref<cl_event>;
using Program = Ref<cl_program>;

/// CL_COMPLETE (0), more for a command that isn't done, less for one that failed.
cl_int status_of(const EventRef& event);
/// An event that is complete when open() says so.
EventRef make_user_event(const Context& context);
void open(const EventRef& user_event) noexcept;
/// When the command ended, in nanoseconds of its device's clock. Its queue has profiling.
std::int64_t end_of(const EventRef& event);

}  // namespace opencl_backend
