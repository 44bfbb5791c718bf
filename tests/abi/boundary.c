/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin that has nothing but its entry, for libabigail: from the entry's parameters it comes to every struct that
 * crosses the boundary and to the type of every entry of the table. */
#include <anyplace/backend/abi.h>
#include <stddef.h>

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  return host != NULL && table != NULL ? ANYPLACE_STATUS_UNSUPPORTED : ANYPLACE_STATUS_INVALID_ARGUMENT;
}
