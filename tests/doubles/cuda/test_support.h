// SPDX-License-Identifier: Apache-2.0
//
// What the double's own tests share. They use the double as any program uses its driver: linked with libcuda.so.1, by
// cuda.h. Every case is a process of its own, so it may set environment variables before the first call.
#pragma once

#include <cuda.h>

#include "../test_support.hpp"

namespace Catch {
template <>
struct StringMaker<CUresult> {
  static std::string convert(CUresult result) {
    const char* name = nullptr;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "CUresult " + std::to_string(result);
  }
};
}  // namespace Catch

namespace test {

using anyplace::doubles::Control;

/// The call is expected to succeed. For the thread that runs the case.
inline void ok(CUresult result, int line = __builtin_LINE()) {
  INFO("the call in line " << line);
  REQUIRE(result == CUDA_SUCCESS);
}

/// A device's primary context, retained, and current to the thread that made it.
class Primary {
 public:
  explicit Primary(int device = 0) : device_(device) {
    ok(cuInit(0));
    ok(cuDevicePrimaryCtxRetain(&context_, device));
    ok(cuCtxPushCurrent(context_));
  }
  Primary(const Primary&) = delete;
  Primary& operator=(const Primary&) = delete;
  ~Primary() {
    CUcontext popped = nullptr;
    cuCtxPopCurrent(&popped);
    cuDevicePrimaryCtxRelease(device_);
  }
  operator CUcontext() const noexcept { return context_; }  // NOLINT(google-explicit-constructor)

 private:
  int device_;
  CUcontext context_ = nullptr;
};

inline CUcontext create_context(int device = 0) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  ok(cuCtxCreate(&context, nullptr, 0, device));
#else
  ok(cuCtxCreate(&context, 0, device));
#endif
  return context;
}

inline CUstream create_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  ok(cuStreamCreate(&stream, flags));
  return stream;
}

inline CUevent create_event(unsigned flags = CU_EVENT_DEFAULT) {
  CUevent event = nullptr;
  ok(cuEventCreate(&event, flags));
  return event;
}

inline CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  ok(cuMemAlloc(&address, bytes));
  return address;
}

/// The double's device addresses are addresses of this process. Only while nothing in a stream may write there.
template <class Value = std::uint32_t>
Value peek(CUdeviceptr address) {
  return *reinterpret_cast<const Value*>(address);  // NOLINT
}

inline CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }  // NOLINT

class Gate : public AnyGate {
 public:
  void block(CUstream stream) { ok(cuLaunchHostFunc(stream, Latch::pass, &latch_)); }
};

/// Runs `body` as a host function of the stream. `body` lives until the stream is waited for.
inline void launch(CUstream stream, std::function<void()>& body) { ok(cuLaunchHostFunc(stream, run_function, &body)); }

/// A test's file of the folder where its stand-ins are; with a NUL behind it, as PTX needs.
std::string read_test_file(const std::string& name);

/// A function of the module stand-in test_kernels.ptx.
class Kernels {
 public:
  Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels() { cuModuleUnload(module_); }
  CUfunction operator[](const char* name) const {
    CUfunction function = nullptr;
    ok(cuModuleGetFunction(&function, module_, name));
    return function;
  }
  CUmodule module() const noexcept { return module_; }

 private:
  CUmodule module_ = nullptr;
};

/// One block of one thread.
template <class... Values>
CUresult launch(CUstream stream, CUfunction kernel, Values... values) {
  void* arguments[] = {&values..., nullptr};
  return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace test
