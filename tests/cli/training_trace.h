// SPDX-License-Identifier: Apache-2.0
//
// A trace as the training of a transformer leaves it: weights and their gradients of many sizes, activations that the
// forward pass keeps and the backward pass frees in reverse, workspaces between, an optimizer whose state comes with
// the first step. Sizes differ from layer to layer and from step to step, so that holes rarely fit exactly.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::test {

struct TrainingShape {
  int layers = 24;
  int steps = 3;
  int streams = 1;              ///< layers take turns
  bool vary = true;             ///< sequences of another length in each step
  std::uint64_t width = 1024;   ///< of the model
  std::uint64_t tokens = 4096;  ///< of a step
};

/// The text of the trace. The same shape gives the same text.
std::string training_trace(const TrainingShape& shape);

}  // namespace anyplace::test
