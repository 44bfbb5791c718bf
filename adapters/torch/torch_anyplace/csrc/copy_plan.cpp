// SPDX-License-Identifier: Apache-2.0
#include "copy_plan.h"

#include <algorithm>

namespace anyplace_torch {
namespace {

constexpr std::uint64_t kMostSteps = 64;

struct Dimension {
  std::uint64_t size;
  std::uint64_t destination;  // strides, in elements
  std::uint64_t source;
};

/// Dimensions of more than one element, the outermost in the destination's memory first, with those that lie on end in
/// both tensors made one.
std::vector<Dimension> coalesced(const at::Tensor& destination, const at::Tensor& source) {
  std::vector<Dimension> all;
  for (std::int64_t d = 0; d < destination.dim(); ++d) {
    if (destination.size(d) == 1) continue;
    all.push_back({static_cast<std::uint64_t>(destination.size(d)), static_cast<std::uint64_t>(destination.stride(d)),
                   static_cast<std::uint64_t>(source.stride(d))});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.destination > b.destination; });
  std::vector<Dimension> result;
  for (const Dimension& inner : all) {
    if (!result.empty() && result.back().destination == inner.destination * inner.size &&
        result.back().source == inner.source * inner.size) {
      result.back() = {result.back().size * inner.size, inner.destination, inner.source};
    } else {
      result.push_back(inner);
    }
  }
  return result;
}

/// The step for the two innermost dimensions, repeated over those outside.
void add_steps(const std::vector<Dimension>& outer, std::size_t level, CopyStep step, std::uint64_t itemsize,
               std::vector<CopyStep>& steps) {
  if (level == outer.size()) {
    steps.push_back(step);
    return;
  }
  for (std::uint64_t i = 0; i < outer[level].size; ++i) {
    CopyStep next = step;
    next.destination += i * outer[level].destination * itemsize;
    next.source += i * outer[level].source * itemsize;
    add_steps(outer, level + 1, next, itemsize, steps);
  }
}

}  // namespace

std::vector<CopyStep> plan_copy(const at::Tensor& destination, const at::Tensor& source) {
  if (destination.scalar_type() != source.scalar_type() || destination.is_conj() != source.is_conj() ||
      destination.is_neg() != source.is_neg()) {
    return {};
  }
  const std::uint64_t itemsize = destination.itemsize();
  std::vector<Dimension> dimensions = coalesced(destination, source);
  Rows rows = Rows::flat(itemsize);
  if (!dimensions.empty() && dimensions.back().destination == 1 && dimensions.back().source == 1) {
    rows = Rows::flat(dimensions.back().size * itemsize);
    dimensions.pop_back();
  }
  if (!dimensions.empty()) {
    const Dimension& lines = dimensions.back();
    rows = {rows.width, lines.size, lines.destination * itemsize, lines.source * itemsize};
    if (rows.destination_pitch < rows.width || rows.source_pitch < rows.width) return {};
    dimensions.pop_back();
  }
  std::uint64_t count = 1;
  for (const Dimension& dimension : dimensions) {
    // A line inside another's gaps is fine for one, and not for a stride below what is inside it: that overlaps.
    if (dimension.destination == 0 || dimension.source == 0) return {};
    count *= dimension.size;
    if (count > kMostSteps) return {};
  }
  std::vector<CopyStep> steps;
  add_steps(dimensions, 0, {0, 0, rows}, itemsize, steps);
  return steps;
}

}  // namespace anyplace_torch
