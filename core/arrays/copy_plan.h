// SPDX-License-Identifier: Apache-2.0
//
// How a copy between two layouts of one shape becomes lines: elements that are contiguous on both sides are a line,
// lines that lie equally far apart on both are a block, and the rest is a loop over blocks.
#pragma once

#include <cstdint>

#include "anyplace/array.h"

namespace anyplace::detail {

/// A number of lines that are copied together. All numbers are positive bytes; `rows` counts lines.
struct CopyBlock {
  std::uint64_t width = 0;  ///< bytes of a line
  std::uint64_t rows = 1;
  std::uint64_t destination_pitch = 0;
  std::uint64_t source_pitch = 0;
};

class CopyPlan {
 public:
  /// Plans the copy. The shapes are the same, and have elements.
  CopyPlan(const ArrayView& destination, const ArrayView& source) noexcept;

  /// Whether an element of the destination may be written twice. Strides that interleave count as such, although they
  /// needn't write twice.
  bool writes_twice() const noexcept { return writes_twice_; }
  const CopyBlock& block() const noexcept { return block_; }

  /// Calls body(destination offset, source offset) for each block. The offsets are bytes from the first elements, and
  /// may be negative.
  template <class Body>
  void for_each_block(const Body& body) const {
    Extents index = outer_;
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = 0;
    std::int64_t to = to_begin_, from = from_begin_;
    for (;;) {
      body(to, from);
      std::size_t i = outer_.size();
      while (i-- != 0) {
        to += to_[i];
        from += from_[i];
        if (++index[i] < outer_[i]) break;
        to -= to_[i] * outer_[i];
        from -= from_[i] * outer_[i];
        index[i] = 0;
      }
      if (i == static_cast<std::size_t>(-1)) return;
    }
  }

 private:
  void add_lines(std::uint64_t element) noexcept;

  // The dimensions of the loop: extents, and bytes from one index to the next in destination (to_) and source (from_).
  Extents outer_, to_, from_;
  std::int64_t to_begin_ = 0, from_begin_ = 0;
  CopyBlock block_;
  bool writes_twice_ = false;
};

}  // namespace anyplace::detail
