// SPDX-License-Identifier: Apache-2.0
// Ends the process, as if all were well, when peer access is asked about.
#include <unistd.h>

#include "support/layer.h"

namespace {

struct Leaves : test::Layer {
  anyplace_status peer_query(int32_t, int32_t, int32_t*) { _exit(0); }
};

}  // namespace

TEST_LAYER(Leaves, ANYPLACE_CPU_SIM_PLUGIN, "leaves")
