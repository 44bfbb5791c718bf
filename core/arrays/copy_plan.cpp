// SPDX-License-Identifier: Apache-2.0
#include "arrays/copy_plan.h"

#include <algorithm>
#include <array>

namespace anyplace::detail {
namespace {

struct Dimension {
  std::int64_t extent;
  std::int64_t to;    ///< bytes from one index to the next, in the destination
  std::int64_t from;  ///< bytes from one index to the next, in the source
};

}  // namespace

CopyPlan::CopyPlan(const ArrayView& destination, const ArrayView& source) noexcept {
  const auto element = static_cast<std::int64_t>(size_of(destination.dtype()));
  std::array<Dimension, Extents::max> dimensions;
  std::size_t count = 0;
  for (std::size_t i = 0; i < destination.ndim(); ++i) {
    if (destination.shape()[i] == 1) continue;
    Dimension made{destination.shape()[i], destination.strides()[i] * element, source.strides()[i] * element};
    if (made.to < 0) {  // both sides are walked from the other end
      to_begin_ += made.to * (made.extent - 1);
      from_begin_ += made.from * (made.extent - 1);
      made.to = -made.to;
      made.from = -made.from;
    }
    dimensions[count++] = made;
  }
  // The destination is written from its lowest byte to its highest.
  std::stable_sort(dimensions.begin(), dimensions.begin() + count,
                   [](const Dimension& a, const Dimension& b) { return a.to > b.to; });
  std::int64_t reach = element;  // bytes from the first byte to the end of what the inner dimensions reach
  for (std::size_t i = count; i-- != 0;) {
    writes_twice_ |= dimensions[i].to < reach;
    reach += dimensions[i].to * (dimensions[i].extent - 1);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension& next = dimensions[i];
    const std::size_t last = outer_.size() - 1;
    const bool merges = !outer_.empty() && to_[last] == next.to * next.extent && from_[last] == next.from * next.extent;
    if (merges) {
      outer_[last] *= next.extent;
      to_[last] = next.to;
      from_[last] = next.from;
    } else {
      outer_.push_back(next.extent);
      to_.push_back(next.to);
      from_.push_back(next.from);
    }
  }
  add_lines(static_cast<std::uint64_t>(element));
}

/// Takes the innermost dimensions out of the loop: one whose elements form a line, and one whose lines form a block.
void CopyPlan::add_lines(std::uint64_t element) noexcept {
  const auto take = [&] {
    outer_.remove(outer_.size() - 1);
    to_.remove(to_.size() - 1);
    from_.remove(from_.size() - 1);
  };
  block_.width = element;
  std::size_t last = outer_.size() - 1;
  if (!outer_.empty() && to_[last] == static_cast<std::int64_t>(element) && from_[last] == to_[last]) {
    block_.width = element * static_cast<std::uint64_t>(outer_[last]);
    take();
  }
  block_.destination_pitch = block_.source_pitch = block_.width;
  last = outer_.size() - 1;
  const auto width = static_cast<std::int64_t>(block_.width);
  if (!outer_.empty() && to_[last] >= width && from_[last] >= width) {
    block_.rows = static_cast<std::uint64_t>(outer_[last]);
    block_.destination_pitch = static_cast<std::uint64_t>(to_[last]);
    block_.source_pitch = static_cast<std::uint64_t>(from_[last]);
    take();
  }
}

}  // namespace anyplace::detail
