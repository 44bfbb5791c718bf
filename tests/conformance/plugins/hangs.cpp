// SPDX-License-Identifier: Apache-2.0
// Never comes back when it is asked for a stream's native handle.
#include <unistd.h>

#include "support/layer.h"

namespace {

struct Hangs : test::Layer {
  anyplace_status stream_native(anyplace_stream, uint64_t*) {
    while (pause() == -1) continue;
    return ANYPLACE_STATUS_INTERNAL;
  }
};

}  // namespace

TEST_LAYER(Hangs, ANYPLACE_CPU_SIM_PLUGIN, "hangs")
