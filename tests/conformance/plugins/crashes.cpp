// SPDX-License-Identifier: Apache-2.0
// Crashes when it disables peer access.
#include <cstdlib>

#include "support/layer.h"

namespace {

struct Crashes : test::Layer {
  anyplace_status peer_disable(int32_t, int32_t) { std::abort(); }
};

}  // namespace

TEST_LAYER(Crashes, ANYPLACE_CPU_SIM_PLUGIN, "crashes")
