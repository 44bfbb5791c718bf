/* SPDX-License-Identifier: Apache-2.0
 * Crashes when it disables peer access.
 */
#include <stdlib.h>

#include "forward.h"

static anyplace_status peer_disable(void* self, int32_t device, int32_t peer) {
  (void)self, (void)device, (void)peer;
  abort();
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  const anyplace_status status = forward_cpu_sim(host, table, "crashes");
  table->peer_disable = peer_disable;
  return status;
}
