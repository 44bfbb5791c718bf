/* SPDX-License-Identifier: Apache-2.0
 * A second backend that conforms: the cases between two backends need one.
 */
#include "forward.h"

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  return forward_cpu_sim(host, table, "twin");
}
