// SPDX-License-Identifier: Apache-2.0
// A second backend that conforms, for the cases between two backends: a layer over cpu_sim, each of whose entries does
// nothing but call cpu_sim's.
#include "forward.h"
#include "support/layer.h"

namespace {

struct Twin : test::LayerBase {
  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    return pass_on<Entry>(args...);
  }
};

}  // namespace

extern "C" anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  const anyplace_status status = forward_cpu_sim(host, table, "twin");
  if (status == ANYPLACE_STATUS_OK) test::put_layer(*new Twin, *table);
  return status;
}
