/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels whose launch is measured, as functions of the host (docs/cpu_sim.md): they do nothing. empty.ptx is the
 * same for CUDA. */
#include <anyplace/backend/abi.h>

ANYPLACE_PLUGIN_EXPORT extern const uint32_t empty_parameters[];
const uint32_t empty_parameters[] = {0};
ANYPLACE_PLUGIN_EXPORT extern const uint32_t empty_3_parameters[];
const uint32_t empty_3_parameters[] = {3, 8, 4, 4};

#define KERNEL(name)                                                                                           \
  ANYPLACE_PLUGIN_EXPORT anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, \
                                              const uint32_t* sizes, uint32_t argument_count);                 \
  anyplace_status name(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes, \
                       uint32_t argument_count) {                                                              \
    (void)user;                                                                                                \
    (void)block;                                                                                               \
    (void)arguments;                                                                                           \
    (void)sizes;                                                                                               \
    (void)argument_count;                                                                                      \
    return ANYPLACE_STATUS_OK;                                                                                 \
  }

KERNEL(empty)
KERNEL(empty_3)
