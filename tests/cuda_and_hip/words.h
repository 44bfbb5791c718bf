// SPDX-License-Identifier: Apache-2.0
//
// The words that are the same for both vendors but for a prefix. vendor.h defines what they are made from, and includes
// this.
#pragma once

#include <dlfcn.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "anyplace/anyplace.h"
#include "anyplace/backend/abi.h"

namespace vendor_test {

namespace call {
constexpr const char* retain_context = VENDOR_CALL("DevicePrimaryCtxRetain");
constexpr const char* map = VENDOR_CALL("MemMap");
constexpr const char* create_memory = VENDOR_CALL("MemCreate");
constexpr const char* export_memory = VENDOR_CALL("MemExportToShareableHandle");
constexpr const char* import_memory = VENDOR_CALL("MemImportFromShareableHandle");
constexpr const char* retain_memory = VENDOR_CALL("MemRetainAllocationHandle");
constexpr const char* launch_host_function = VENDOR_CALL("LaunchHostFunc");
constexpr const char* reserve = VENDOR_CALL("MemAddressReserve");
constexpr const char* set_access = VENDOR_CALL("MemSetAccess");
constexpr const char* unmap = VENDOR_CALL("MemUnmap");
constexpr const char* create_stream = VENDOR_CALL("StreamCreateWithPriority");
constexpr const char* synchronize_stream = VENDOR_CALL("StreamSynchronize");
constexpr const char* create_pool = VENDOR_CALL("MemPoolCreate");
constexpr const char* set_pool_access = VENDOR_CALL("MemPoolSetAccess");
constexpr const char* unload_module = VENDOR_CALL("ModuleUnload");
constexpr const char* fill_32 = VENDOR_CALL("MemsetD32Async");
}  // namespace call

/// An exported function of the double, which must be loaded.
template <class Function>
Function* vendor(const char* symbol) {
  void* const library = dlopen(library_name, RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : dlsym(library, symbol);
  if (found == nullptr) throw std::runtime_error(std::string(library_name) + " has no " + symbol);
  return reinterpret_cast<Function*>(found);
}

inline unsigned flags_of(NativeStream stream) {
  unsigned flags = 0;
  REQUIRE(vendor<Result(NativeStream, unsigned*)>(VENDOR_CALL("StreamGetFlags"))(stream, &flags) == Result{});
  return flags;
}
inline int priority_of(NativeStream stream) {
  int priority = 0;
  REQUIRE(vendor<Result(NativeStream, int*)>(VENDOR_CALL("StreamGetPriority"))(stream, &priority) == Result{});
  return priority;
}

/// The access that a device has to mapped memory.
inline unsigned long long access_of(int device, std::uint64_t address) {
  MemoryLocation location{};
  location.type = is_a_device;
  location.id = device;
  unsigned long long flags = 0;
  const auto get = vendor<Result(unsigned long long*, const MemoryLocation*, Address)>(VENDOR_CALL("MemGetAccess"));
  REQUIRE(get(&flags, &location, std::bit_cast<Address>(address)) == Result{});
  return flags;
}

}  // namespace vendor_test
