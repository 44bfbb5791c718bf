// SPDX-License-Identifier: Apache-2.0
//
// What the cases stand on: the double that the backend runs over, and NVIDIA's functions as another library in the same
// process would call them.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "anyplace/anyplace.h"
#include "doubles/double_control.hpp"
#include "support/environment.h"
#include "support/errors.h"

namespace cuda_test {

using anyplace::ErrorCode;
using Variables = std::initializer_list<std::pair<const char*, const char*>>;

/// The double, loaded before the backend loads it. At its end nothing may have been misused.
class Double : public anyplace::doubles::Control {
 public:
  explicit Double(Variables variables = {}) : Control(set(variables), true) {}
  ~Double() { CHECK(misuse_text() == ""); }

 private:
  /// Before the double reads them.
  static const char* set(Variables variables) {
    for (const auto& [name, value] : variables) test::set_env(name, value);
    return "libcuda.so.1";
  }
};

/// An exported function of libcuda.so.1, which must be loaded.
template <class Function>
Function* vendor(const char* symbol) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  if (found == nullptr) throw std::runtime_error(std::string("libcuda.so.1 has no ") + symbol);
  return reinterpret_cast<Function*>(found);
}

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

/// The suite's test kernels: "kernels.ptx", "kernels.sm_90.cubin" ...
inline std::string image_path(const char* name) { return std::string(ANYPLACE_CUDA_IMAGES "/") + name; }
inline std::string read_image(const char* name) {
  std::ifstream file(image_path(name), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) throw std::runtime_error("no image " + image_path(name));
  return bytes;
}
inline anyplace::Module load(const anyplace::Device& device, const std::string& image,
                             const anyplace::ModuleOptions& options = {}) {
  return anyplace::Module(device, std::as_bytes(std::span(image)), options);
}

inline Catch::Matchers::StdString::ContainsMatcher contains(const std::string& part) { return Catch::Contains(part); }

}  // namespace cuda_test
