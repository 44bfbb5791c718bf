/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin written by hand against today's version of the boundary. */
#include <anyplace/backend/abi.h>

#include "tiny_backend.h"

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  anyplace_backend_table own;
  tiny_fill(host, "abi_today_c", &own);
  own.struct_size = table->struct_size < sizeof(own) ? table->struct_size : (uint32_t)sizeof(own);
  own.abi_major = ANYPLACE_ABI_MAJOR;
  own.abi_minor = ANYPLACE_ABI_MINOR;
  memcpy(table, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}
