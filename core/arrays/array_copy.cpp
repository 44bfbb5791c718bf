// SPDX-License-Identifier: Apache-2.0
//
// copy() between arrays: the checks, and the submissions. All errors of the arrays are found before the first
// submission. Each submission is a public call of the stream, so that captures and held streams need no code here.
#include <fmt/format.h>

#include <string>

#include "anyplace/array.h"
#include "arrays/copy_plan.h"
#include "runtime/call.h"

namespace anyplace {
namespace detail {
namespace {

constexpr const char* copy_arrays = "copy";

/// One side of the copy: memory that Stream::copy takes, and the position of the first element in it.
class ArraySide {
 public:
  explicit ArraySide(const ArrayView& array) {
    const std::uint64_t begin = array.range_begin().value();
    first_ = array.address().value() - begin;
    bytes_ = array.range_bytes();
    host_ = array.is_on_host();
    if (host_) {
      address_ = begin;
    } else if (array.buffer()) {
      buffer_ = array.buffer().sub(begin - array.buffer().address(), bytes_);
    } else {
      wrapped_ = Buffer::from_native(array.device(), begin, bytes_);
      buffer_ = wrapped_;
    }
  }

  bool is_host() const noexcept { return host_; }
  BufferView buffer(std::int64_t offset, std::uint64_t bytes) const {
    return buffer_.sub(first_ + static_cast<std::uint64_t>(offset), bytes);
  }
  HostSpan host(std::int64_t offset, std::uint64_t bytes) const noexcept {
    const std::uint64_t at = address_ + first_ + static_cast<std::uint64_t>(offset);
    return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(at)), bytes};
  }

 private:
  bool host_ = false;
  std::uint64_t address_ = 0;
  std::uint64_t first_ = 0;  ///< bytes from the beginning of the memory
  std::uint64_t bytes_ = 0;
  Buffer wrapped_;
  BufferView buffer_;
};

void require_same(const ArrayView& destination, const ArrayView& source) {
  const std::string place = destination.place().to_string();
  static_cast<void>(source.place());  // throws for a null array
  if (destination.dtype() != source.dtype()) {
    fail(ErrorCode::invalid_argument, place, copy_arrays,
         fmt::format("the destination's elements are {} and the source's {}\na copy converts nothing",
                     to_string(destination.dtype()), to_string(source.dtype())));
  }
  if (destination.shape() != source.shape()) {
    fail(ErrorCode::invalid_argument, place, copy_arrays,
         fmt::format("the destination has the shape {} and the source {}\nboth have the same; reshape() makes another "
                     "of as many elements",
                     destination.shape().to_string(), source.shape().to_string()));
  }
  if (destination.is_read_only()) {
    fail(ErrorCode::invalid_argument, place, copy_arrays, "the destination is read-only");
  }
}

void require_apart(const ArrayView& destination, const ArrayView& source) {
  if (destination.place() != source.place()) return;
  const std::uint64_t to = destination.range_begin().value(), from = source.range_begin().value();
  const bool apart = to < from ? from - to >= destination.range_bytes() : to - from >= source.range_bytes();
  if (apart) return;
  fail(ErrorCode::invalid_argument, destination.place().to_string(), copy_arrays,
       fmt::format("the destination's {} bytes from {:#x} and the source's {} from {:#x} overlap\ncopy through other "
                   "memory",
                   destination.range_bytes(), to, source.range_bytes(), from));
}

template <class To, class From>
void copy_block(const StreamView& stream, const To& to, const From& from, const CopyBlock& block) {
  if (block.rows == 1) {
    stream.copy(to, from);
  } else {
    stream.copy_2d(to, block.destination_pitch, from, block.source_pitch, block.width, block.rows);
  }
}

void submit_block(const StreamView& stream, const ArraySide& to, const ArraySide& from, std::int64_t to_offset,
                  std::int64_t from_offset, const CopyBlock& block) {
  const std::uint64_t to_bytes = (block.rows - 1) * block.destination_pitch + block.width;
  const std::uint64_t from_bytes = (block.rows - 1) * block.source_pitch + block.width;
  if (!to.is_host() && !from.is_host()) {
    copy_block(stream, to.buffer(to_offset, to_bytes), from.buffer(from_offset, from_bytes), block);
  } else if (!to.is_host()) {
    copy_block(stream, to.buffer(to_offset, to_bytes), ConstHostSpan(from.host(from_offset, from_bytes)), block);
  } else if (!from.is_host()) {
    copy_block(stream, to.host(to_offset, to_bytes), from.buffer(from_offset, from_bytes), block);
  } else if (block.rows == 1) {
    stream.copy(to.host(to_offset, to_bytes), ConstHostSpan(from.host(from_offset, from_bytes)));
  } else {
    stream.copy_2d(Address(to.host(to_offset, to_bytes).data()), block.destination_pitch,
                   Address(from.host(from_offset, from_bytes).data()), block.source_pitch, block.width, block.rows);
  }
}

}  // namespace
}  // namespace detail

void copy(const StreamView& stream, const ArrayView& destination, const ArrayView& source) {
  using namespace detail;
  enter(copy_arrays);
  require_same(destination, source);
  if (destination.size() == 0) return;
  const CopyPlan plan(destination, source);
  if (plan.writes_twice()) {
    fail(ErrorCode::invalid_argument, destination.place().to_string(), copy_arrays,
         fmt::format("elements of the destination share memory: its shape is {}, its strides {}",
                     destination.shape().to_string(), destination.strides().to_string()));
  }
  require_apart(destination, source);
  const ArraySide to(destination), from(source);
  plan.for_each_block([&](std::int64_t to_offset, std::int64_t from_offset) {
    submit_block(stream, to, from, to_offset, from_offset, plan.block());
  });
}

}  // namespace anyplace
