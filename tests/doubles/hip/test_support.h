// SPDX-License-Identifier: Apache-2.0
//
// What the double's own tests share. They use the double as any program uses HIP: linked with libamdhip64.so.6, by
// hip_runtime_api.h. Every case is a process of its own, so it may set environment variables before the first call.
#pragma once

#include "../test_support.hpp"
#include "compat.h"

namespace Catch {
template <>
struct StringMaker<hipError_t> {
  static std::string convert(hipError_t error) { return hipGetErrorName(error); }
};
}  // namespace Catch

namespace test {

class Control : public anyplace::doubles::Control {
 public:
  Control() : anyplace::doubles::Control("libamdhip64.so.6") {}
};

/// The call is expected to succeed. For the thread that runs the case.
inline void ok(hipError_t result, int line = __builtin_LINE()) {
  INFO("the call in line " << line);
  REQUIRE(result == hipSuccess);
}

inline hipStream_t create_stream(unsigned flags = hipStreamNonBlocking) {
  hipStream_t stream = nullptr;
  ok(hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

inline hipEvent_t create_event(unsigned flags = hipEventDefault) {
  hipEvent_t event = nullptr;
  ok(hipEventCreateWithFlags(&event, flags));
  return event;
}

/// Memory of the current device that begins with these words. The double's device memory is memory of this process.
inline std::uint32_t* words(const std::vector<std::uint32_t>& values) {
  void* made = nullptr;
  ok(hipMalloc(&made, values.size() * 4));
  std::copy(values.begin(), values.end(), static_cast<std::uint32_t*>(made));
  return static_cast<std::uint32_t*>(made);
}

inline hipError_t fill(std::uint32_t* to, std::uint32_t value, std::size_t count, hipStream_t stream) {
  return hipMemsetD32Async(to, static_cast<int>(value), count, stream);
}

/// Runs `body` as a function of the host, in the stream's order. `body` lives until the stream is waited for.
inline hipError_t call_back(hipStream_t stream, std::function<void()>& body) {
  return hipStreamAddCallback(
      stream, [](hipStream_t, hipError_t, void* user) { run_function(user); }, &body, 0);
}

struct Gate : AnyGate {
  explicit Gate(hipStream_t stream) {
    const hipStreamCallback_t pass = [](hipStream_t, hipError_t, void* user) { Latch::pass(user); };
    ok(hipStreamAddCallback(stream, pass, &latch_, 0));
  }
};

/// test_kernels.c as a shared object, and as a code object for the architecture.
std::string kernels_image();
std::string code_object(const char* arch = "gfx90a");
hipFunction_t kernel(const char* name);

/// One block of one thread.
template <class... Values>
hipError_t launch(hipStream_t stream, hipFunction_t function, Values... values) {
  void* arguments[] = {&values..., nullptr};
  return hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace test
