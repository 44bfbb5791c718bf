/* SPDX-License-Identifier: Apache-2.0 */
#include <anyplace/backend/abi.h>

/* One block: arguments[i] points at the value of the i-th argument, here the address of the data. */
anyplace_status square(void* user, const anyplace_block* block, void* const* arguments, const uint32_t* sizes,
                       uint32_t argument_count) {
  (void)user;
  if (argument_count != 1 || sizes[0] != sizeof(anyplace_address)) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  uint32_t* data = *(uint32_t* const*)arguments[0];
  data[block->index[0]] *= data[block->index[0]];
  return ANYPLACE_STATUS_OK;
}
