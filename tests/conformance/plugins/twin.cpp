// SPDX-License-Identifier: Apache-2.0
// A second backend that conforms, for the cases between two backends: a layer over cpu_sim, each of whose entries does
// nothing but call cpu_sim's.
#include "support/layer.h"

TEST_LAYER(test::Layer, ANYPLACE_CPU_SIM_PLUGIN, "twin")
