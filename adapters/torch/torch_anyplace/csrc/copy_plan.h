// SPDX-License-Identifier: Apache-2.0
//
// Copy plans: which lines of bytes a copy between two tensors comes down to, where it does without looking at elements.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "transfers.h"

namespace anyplace_torch {

/// One transfer of a plan; offsets in bytes from the tensors' first elements.
struct CopyStep {
  std::uint64_t destination;
  std::uint64_t source;
  Rows rows;
};

/// The transfers that copy `source` into `destination`, which have the same sizes; empty where there is no plan: the
/// types differ, memory overlaps itself (expanded tensors), or it would take too many transfers.
std::vector<CopyStep> plan_copy(const at::Tensor& destination, const at::Tensor& source);

}  // namespace anyplace_torch
