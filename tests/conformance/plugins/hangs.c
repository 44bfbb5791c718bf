/* SPDX-License-Identifier: Apache-2.0
 * Never comes back when it is asked for a stream's native handle.
 */
#include <unistd.h>

#include "forward.h"

static anyplace_status stream_native(void* self, anyplace_stream stream, uint64_t* native) {
  (void)self, (void)stream, (void)native;
  while (pause() == -1) continue;
  return ANYPLACE_STATUS_INTERNAL;
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  const anyplace_status status = forward_cpu_sim(host, table, "hangs");
  table->stream_native = stream_native;
  return status;
}
