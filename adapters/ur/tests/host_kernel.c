/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel as cpu_sim takes it, a function of the host that is called once per block:
 * out[i] = factor * in[i] + offset, for the first `count` elements.
 */
#include <anyplace/backend/abi.h>

ANYPLACE_PLUGIN_EXPORT extern const uint32_t scale_parameters[];
const uint32_t scale_parameters[] = {4, 8, 8, 4, 4};
/* A variable of the module. */
ANYPLACE_PLUGIN_EXPORT extern uint32_t offset;
uint32_t offset = 0;

ANYPLACE_PLUGIN_EXPORT anyplace_status scale(void* user, const anyplace_block* block, void* const* arguments,
                                             const uint32_t* sizes, uint32_t argument_count) {
  uint32_t* const out = *(uint32_t* const*)arguments[0];
  const uint32_t* const in = *(const uint32_t* const*)arguments[1];
  const uint32_t factor = *(const uint32_t*)arguments[2];
  const uint32_t count = *(const uint32_t*)arguments[3];
  (void)user, (void)sizes;
  if (argument_count != 4) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  for (uint32_t thread = 0; thread < block->block[0]; ++thread) {
    const uint32_t i = block->index[0] * block->block[0] + thread;
    if (i < count) out[i] = factor * in[i] + offset;
  }
  return ANYPLACE_STATUS_OK;
}
