// SPDX-License-Identifier: Apache-2.0
//
// What the cases of CUDA alone stand on: contexts.
#pragma once

#include <thread>

#include "cuda_and_hip/support.h"

namespace cuda_test {

using namespace vendor_test;

inline CUcontext current_context() {
  CUcontext current = nullptr;
  REQUIRE(vendor<CUresult(CUcontext*)>("cuCtxGetCurrent")(&current) == CUDA_SUCCESS);
  return current;
}

/// A context that isn't a primary one, current as long as the object lives.
class OtherContext {
 public:
  explicit OtherContext(CUdevice device) {
    REQUIRE(vendor<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context_, 0, device) == CUDA_SUCCESS);
  }
  OtherContext(const OtherContext&) = delete;  // destroyed once
  OtherContext& operator=(const OtherContext&) = delete;
  ~OtherContext() { CHECK(vendor<CUresult(CUcontext)>("cuCtxDestroy_v2")(context_) == CUDA_SUCCESS); }

  CUcontext get() const noexcept { return context_; }

 private:
  CUcontext context_ = nullptr;
};

/// A context of another library that was destroyed by another thread: it stays current to this one, whose calls it
/// fails, as long as the object lives.
class DestroyedContext {
 public:
  explicit DestroyedContext(CUdevice device) {
    REQUIRE(vendor<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&context_, 0, device) == CUDA_SUCCESS);
    CUresult destroyed = CUDA_ERROR_UNKNOWN;
    std::thread([&] { destroyed = vendor<CUresult(CUcontext)>("cuCtxDestroy_v2")(context_); }).join();
    REQUIRE(destroyed == CUDA_SUCCESS);
    REQUIRE(vendor<CUresult()>("cuCtxSynchronize")() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  }
  DestroyedContext(const DestroyedContext&) = delete;  // popped once
  DestroyedContext& operator=(const DestroyedContext&) = delete;
  ~DestroyedContext() {
    CUcontext popped = nullptr;
    CHECK(vendor<CUresult(CUcontext*)>("cuCtxPopCurrent_v2")(&popped) == CUDA_SUCCESS);
    CHECK(popped == context_);
  }

  CUcontext get() const noexcept { return context_; }

 private:
  CUcontext context_ = nullptr;
};

}  // namespace cuda_test
