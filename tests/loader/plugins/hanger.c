/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose entry never returns. */
#include <unistd.h>

#include "anyplace/backend/abi.h"

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  (void)host;
  (void)table;
  for (;;) pause();
}
