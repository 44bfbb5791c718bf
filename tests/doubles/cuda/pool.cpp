// SPDX-License-Identifier: Apache-2.0
//
// The entries of stream-ordered memory, and the pools that a device has.
#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

static_assert(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES == 1 && CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == 4 &&
              CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH == 6 && CU_MEMPOOL_ATTR_USED_MEM_HIGH == 8);
static_assert(CU_MEM_LOCATION_TYPE_DEVICE == Access::on_device && CU_MEM_ACCESS_FLAGS_PROT_NONE == Access::none &&
              CU_MEM_ACCESS_FLAGS_PROT_READWRITE == Access::read_write && CU_MEM_ALLOCATION_TYPE_PINNED == 1);

/// Writes the handle of one of the device's pools.
int pool_of_device(CUmemoryPool* pool, CUdevice device, PoolRef DeviceState::*which) {
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  if (!state().settings.pools) return CUDA_ERROR_NOT_SUPPORTED;
  const Locked lock(state().mutex);
  WordOut(pool).write((state().device(device).*which)->handle);
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuMemAllocAsync)(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return allocate_async(address, bytes, nullptr, stream);
}

CUDA_DOUBLE_ENTRY(cuMemAllocFromPoolAsync)(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : allocate_async(address, bytes, pool, stream);
}

CUDA_DOUBLE_ENTRY(cuMemFreeAsync)(CUdeviceptr address, CUstream stream) { return free_async(address, stream); }

CUDA_DOUBLE_ENTRY(cuDeviceGetDefaultMemPool)(CUmemoryPool* pool, CUdevice device) {
  return pool_of_device(pool, device, &DeviceState::default_pool);
}

CUDA_DOUBLE_ENTRY(cuMemPoolCreate)(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  if (is_null(pool, properties)) return CUDA_ERROR_INVALID_VALUE;
  uint64_t limit = 0;
#if CUDA_VERSION >= 12020
  limit = properties->maxSize;
#endif
  const Access location{properties->location.type, properties->location.id};
  const bool shared = properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
  return create_pool(pool, properties->allocType, location, shared, limit);
}

CUDA_DOUBLE_ENTRY(cuMemPoolDestroy)(CUmemoryPool pool) { return destroy_pool(pool); }

CUDA_DOUBLE_ENTRY(cuMemPoolSetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return set_pool_attribute(pool, attribute, value);
}

CUDA_DOUBLE_ENTRY(cuMemPoolGetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return get_pool_attribute(pool, attribute, value);
}

CUDA_DOUBLE_ENTRY(cuMemPoolTrimTo)(CUmemoryPool pool, size_t keep) { return trim_pool(pool, keep); }

CUDA_DOUBLE_ENTRY(cuMemPoolSetAccess)(CUmemoryPool pool, const CUmemAccessDesc* accesses, size_t count) {
  return set_pool_access(pool, read_accesses(accesses, count));
}

}  // namespace anyplace::doubles::cuda
