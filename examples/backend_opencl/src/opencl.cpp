// SPDX-License-Identifier: Apache-2.0
#include "opencl.h"

#include <dlfcn.h>

#include <array>

namespace opencl_backend {
namespace {

Api loaded;

struct ErrorName {
  cl_int code;
  const char* name;
};

#define OPENCL_ERROR(name) \
  ErrorName { name, #name }
constexpr std::array error_names = {
    OPENCL_ERROR(CL_DEVICE_NOT_FOUND),
    OPENCL_ERROR(CL_DEVICE_NOT_AVAILABLE),
    OPENCL_ERROR(CL_COMPILER_NOT_AVAILABLE),
    OPENCL_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    OPENCL_ERROR(CL_OUT_OF_RESOURCES),
    OPENCL_ERROR(CL_OUT_OF_HOST_MEMORY),
    OPENCL_ERROR(CL_PROFILING_INFO_NOT_AVAILABLE),
    OPENCL_ERROR(CL_MEM_COPY_OVERLAP),
    OPENCL_ERROR(CL_BUILD_PROGRAM_FAILURE),
    OPENCL_ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    OPENCL_ERROR(CL_COMPILE_PROGRAM_FAILURE),
    OPENCL_ERROR(CL_LINK_PROGRAM_FAILURE),
    OPENCL_ERROR(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    OPENCL_ERROR(CL_INVALID_VALUE),
    OPENCL_ERROR(CL_INVALID_PLATFORM),
    OPENCL_ERROR(CL_INVALID_DEVICE),
    OPENCL_ERROR(CL_INVALID_CONTEXT),
    OPENCL_ERROR(CL_INVALID_QUEUE_PROPERTIES),
    OPENCL_ERROR(CL_INVALID_COMMAND_QUEUE),
    OPENCL_ERROR(CL_INVALID_BUILD_OPTIONS),
    OPENCL_ERROR(CL_INVALID_PROGRAM),
    OPENCL_ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
    OPENCL_ERROR(CL_INVALID_KERNEL_NAME),
    OPENCL_ERROR(CL_INVALID_KERNEL_DEFINITION),
    OPENCL_ERROR(CL_INVALID_KERNEL),
    OPENCL_ERROR(CL_INVALID_ARG_INDEX),
    OPENCL_ERROR(CL_INVALID_ARG_VALUE),
    OPENCL_ERROR(CL_INVALID_ARG_SIZE),
    OPENCL_ERROR(CL_INVALID_KERNEL_ARGS),
    OPENCL_ERROR(CL_INVALID_WORK_DIMENSION),
    OPENCL_ERROR(CL_INVALID_WORK_GROUP_SIZE),
    OPENCL_ERROR(CL_INVALID_WORK_ITEM_SIZE),
    OPENCL_ERROR(CL_INVALID_GLOBAL_OFFSET),
    OPENCL_ERROR(CL_INVALID_EVENT_WAIT_LIST),
    OPENCL_ERROR(CL_INVALID_EVENT),
    OPENCL_ERROR(CL_INVALID_OPERATION),
    OPENCL_ERROR(CL_INVALID_GLOBAL_WORK_SIZE),
    OPENCL_ERROR(CL_INVALID_PROPERTY),
    OPENCL_ERROR(CL_INVALID_COMPILER_OPTIONS),
    ErrorName{-1001, "CL_PLATFORM_NOT_FOUND_KHR"},  // of cl_khr_icd
};
#undef OPENCL_ERROR

anyplace_status status_for(cl_int code) noexcept {
  switch (code) {
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
      return ANYPLACE_STATUS_OUT_OF_MEMORY;
    default:
      return ANYPLACE_STATUS_BACKEND_FAILED;
  }
}

}  // namespace

void load_api() {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw anyplace::backend::Failure(
        ANYPLACE_STATUS_LIBRARY_MISSING,
        std::string("the OpenCL loader is missing: ") + dlerror() +
            "\ninstall it (Debian: apt-get install ocl-icd-libopencl1) and a driver (for CPUs: pocl-opencl-icd)");
  }
  const auto find = [library](const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) {
      throw anyplace::backend::Failure(
          ANYPLACE_STATUS_LIBRARY_MISSING,
          std::string("libOpenCL.so.1 has no ") + name +
              ": it is older than OpenCL 2.0\ninstall a newer one (Debian: apt-get install ocl-icd-libopencl1)");
    }
    return found;
  };
#define OPENCL_LOAD(name) loaded.name = reinterpret_cast<decltype(loaded.name)>(find("cl" #name));
  OPENCL_CALLS(OPENCL_LOAD)
#undef OPENCL_LOAD
#define OPENCL_LOAD(name) loaded.name = reinterpret_cast<decltype(loaded.name)>(dlsym(library, "cl" #name));
  OPENCL_OPTIONAL_CALLS(OPENCL_LOAD)
#undef OPENCL_LOAD
}

const Api& api() noexcept { return loaded; }

const char* error_name(cl_int code) noexcept {
  for (const ErrorName& known : error_names) {
    if (known.code == code) return known.name;
  }
  return "";
}

void refuse(anyplace_status status, const std::string& text, cl_int code) {
  throw anyplace::backend::Failure(status, text, code, error_name(code));
}

void fail_call(cl_int code, const char* call) { refuse(status_for(code), std::string(call) + " failed", code); }

cl_int status_of(const EventRef& event) {
  cl_int status = CL_QUEUED;
  check(api().GetEventInfo(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, nullptr),
        "clGetEventInfo");
  return status;
}

EventRef make_user_event(const Context& context) {
  cl_int code = CL_SUCCESS;
  EventRef event(api().CreateUserEvent(context.get(), &code));
  check(code, "clCreateUserEvent");
  return event;
}

void open(const EventRef& user_event) noexcept { api().SetUserEventStatus(user_event.get(), CL_COMPLETE); }

std::int64_t end_of(const EventRef& event) {
  cl_ulong end = 0;
  check(api().GetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr),
        "clGetEventProfilingInfo");
  return static_cast<std::int64_t>(end);
}

}  // namespace opencl_backend
