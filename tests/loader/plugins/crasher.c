/* SPDX-License-Identifier: Apache-2.0
 * A plugin that takes its process down while it is opened. */
#include <stdlib.h>

#include "anyplace/backend/abi.h"

__attribute__((constructor)) static void crash(void) { abort(); }

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  (void)host;
  (void)table;
  return ANYPLACE_STATUS_BACKEND_FAILED;
}
