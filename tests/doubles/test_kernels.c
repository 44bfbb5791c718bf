/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for the doubles' own tests, as functions of the host (each double's README.md says what it makes of them).
 */
#include <anyplace/backend/abi.h>
#include <stdatomic.h>
#include <string.h>

#define PARAMETERS(name, n, ...)                                    \
  ANYPLACE_PLUGIN_EXPORT extern const uint32_t name##_parameters[]; \
  const uint32_t name##_parameters[(n) + 1] = {(n), __VA_ARGS__}
#define KERNEL(name)                                                                                           \
  ANYPLACE_PLUGIN_EXPORT                                                                                       \
  anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes, \
                       uint32_t argument_count);                                                               \
  anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes, \
                       uint32_t argument_count)
#define VALUE(type, i) (*(type const*)arguments[i])
#define UNUSED (void)user, (void)block, (void)arguments, (void)sizes, (void)argument_count

/* A variable of the module. */
ANYPLACE_PLUGIN_EXPORT extern uint32_t table[16];
uint32_t table[16] = {11, 12};

/* *counter += step, in every block. */
PARAMETERS(count, 2, 8, 4);
KERNEL(count) {
  UNUSED;
  atomic_fetch_add(VALUE(_Atomic uint32_t*, 0), VALUE(uint32_t, 1));
  return ANYPLACE_STATUS_OK;
}

/* Appends `value` to the list, whose first word is its length. */
PARAMETERS(append, 2, 8, 4);
KERNEL(append) {
  UNUSED;
  uint32_t* const list = VALUE(uint32_t*, 0);
  const uint32_t at = atomic_fetch_add((_Atomic uint32_t*)list, 1);
  list[1 + at] = VALUE(uint32_t, 1);
  return ANYPLACE_STATUS_OK;
}

/* Writes what it was given, and the shape of its launch. */
PARAMETERS(report, 6, 8, 1, 2, 4, 8, 12);
KERNEL(report) {
  UNUSED;
  uint64_t* const out = VALUE(uint64_t*, 0);
  if (block->index[0] != 0 || block->index[1] != 0 || block->index[2] != 0) return ANYPLACE_STATUS_OK;
  uint32_t three[3];
  memcpy(three, arguments[5], sizeof(three));
  out[0] = VALUE(uint8_t, 1);
  out[1] = VALUE(uint16_t, 2);
  out[2] = VALUE(uint32_t, 3);
  out[3] = VALUE(uint64_t, 4);
  for (int i = 0; i < 3; ++i) {
    out[4 + i] = three[i];
    out[7 + i] = block->grid[i];
    out[10 + i] = block->block[i];
  }
  out[13] = block->shared_bytes;
  return ANYPLACE_STATUS_OK;
}

PARAMETERS(faulty, 1, 4);
KERNEL(faulty) {
  UNUSED;
  return ANYPLACE_STATUS_KERNEL_FAILED;
}
