// SPDX-License-Identifier: Apache-2.0
//
// The entries of pools. An older header has no enumeration of their attributes.
#include "runtime.h"

namespace anyplace::doubles::hip {

static_assert(hipMemPoolReuseFollowEventDependencies == 1 && hipMemPoolAttrReleaseThreshold == 4 &&
              hipMemPoolAttrReservedMemHigh == 6 && hipMemPoolAttrUsedMemHigh == 8);
static_assert(hipMemLocationTypeDevice == Access::on_device && hipMemAccessFlagsProtNone == Access::none &&
              hipMemAccessFlagsProtReadWrite == Access::read_write && hipMemAllocationTypePinned == 1);

HIP_DOUBLE_ENTRY(hipMallocFromPoolAsync)(void** memory, size_t bytes, hipMemPool_t pool, hipStream_t stream) {
  return pool == nullptr ? hipErrorInvalidValue : allocate_async(memory, bytes, pool, stream);
}

HIP_DOUBLE_ENTRY(hipFreeAsync)(void* memory, hipStream_t stream) { return free_async(memory, stream); }

HIP_DOUBLE_ENTRY(hipMemPoolCreate)(hipMemPool_t* pool, const hipMemPoolProps* properties) {
  if (is_null(pool, properties)) return hipErrorInvalidValue;
  return create_pool(pool, properties->allocType, {properties->location.type, properties->location.id},
                     properties->handleTypes != hipMemHandleTypeNone, 0);
}

HIP_DOUBLE_ENTRY(hipMemPoolDestroy)(hipMemPool_t pool) { return destroy_pool(pool); }

HIP_DOUBLE_ENTRY(hipMemPoolSetAttribute)(hipMemPool_t pool, int attribute, void* value) {
  return set_pool_attribute(pool, attribute, value);
}

HIP_DOUBLE_ENTRY(hipMemPoolGetAttribute)(hipMemPool_t pool, int attribute, void* value) {
  return get_pool_attribute(pool, attribute, value);
}

HIP_DOUBLE_ENTRY(hipMemPoolTrimTo)(hipMemPool_t pool, size_t keep) { return trim_pool(pool, keep); }

HIP_DOUBLE_ENTRY(hipMemPoolSetAccess)(hipMemPool_t pool, const hipMemAccessDesc* accesses, size_t count) {
  return set_pool_access(pool, read_accesses(accesses, count));
}

}  // namespace anyplace::doubles::hip
