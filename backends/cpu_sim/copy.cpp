// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "failure.h"
#include "operation.h"
#include "protection.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// Smaller ranges of a copy aren't worth another thread.
constexpr std::uint64_t grain_bytes = short_bytes;

std::byte* at(anyplace_address address) noexcept { return backend::from_handle<std::byte>(address); }

}  // namespace

void submit_copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes) {
  if (bytes <= short_limit) {
    stream.submit_copy(destination, source, bytes);
  } else {
    stream.submit<Copy>(destination, source, bytes);
  }
}

void submit_staged_copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes) {
  auto read = std::make_unique<std::byte[]>(bytes);
  std::memcpy(read.get(), at(source), bytes);
  stream.submit<StagedCopy>(destination, std::move(read), bytes);
}

Progress StagedCopy::execute(Stream&) noexcept {
  const CommandAccess access("a copy");
  std::memcpy(at(destination_), bytes_.get(), count_);
  return Progress::done;
}

void StagedCopy::describe(Operation& out) const {
  out.be_copy(destination_, 0, count_);
  out.what += " that were read before";
  out.reads.clear();
}

void submit_fill(Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                 std::uint64_t count) {
  if (count <= short_limit / width) {
    stream.submit_fill(address, value, width, count);
  } else {
    stream.submit<Fill>(address, value, width, count);
  }
}

Spreadable::Extent Copy::extent() const noexcept { return {bytes_, grain_bytes}; }

void Copy::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  const CommandAccess access("a copy");
  std::memcpy(at(destination_) + begin, at(source_) + begin, end - begin);
}

void Copy::describe(Operation& out) const { out.be_copy(destination_, source_, bytes_); }

Spreadable::Extent Copy2d::extent() const noexcept { return {rows_, std::max<std::uint64_t>(1, grain_bytes / width_)}; }

void Copy2d::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  const CommandAccess access("a 2D copy");
  for (std::uint64_t row = begin; row < end; ++row) {
    std::memcpy(at(destination_) + row * destination_pitch_, at(source_) + row * source_pitch_, width_);
  }
}

void Copy2d::describe(Operation& out) const {
  out.be_copy(destination_, source_, width_ * rows_);
  out.reads.front().end = source_ + (rows_ - 1) * source_pitch_ + width_;
  out.writes.front().end = destination_ + (rows_ - 1) * destination_pitch_ + width_;
}

Spreadable::Extent Fill::extent() const noexcept { return {count_, grain_bytes / width_}; }

void Fill::run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>&) noexcept {
  const CommandAccess access("a fill");
  run_fill(address_ + begin * width_, value_, width_, end - begin);
}

void Fill::describe(Operation& out) const { out.be_fill(address_, width_ * count_); }

void check_copy_kind(std::uint32_t kind) {
  if (kind < ANYPLACE_COPY_HOST_TO_DEVICE || kind > ANYPLACE_COPY_HOST_TO_HOST) {
    bad_argument("there is no copy kind " + std::to_string(kind));
  }
}

void check_copy_2d(const anyplace_copy_2d& copy) {
  check_copy_kind(copy.kind);
  if (copy.width == 0 || copy.rows == 0) bad_argument("a 2D copy of 0 bytes");
  if (copy.destination_pitch < copy.width || copy.source_pitch < copy.width) {
    bad_argument("a 2D copy of rows of " + std::to_string(copy.width) + " bytes has pitches of " +
                 std::to_string(copy.destination_pitch) + " and " + std::to_string(copy.source_pitch) + " bytes");
  }
}

void check_fill(anyplace_address address, std::uint32_t width) {
  if (width != 1 && width != 2 && width != 4) {
    bad_argument("elements to fill are 1, 2 or 4 bytes wide, not " + std::to_string(width));
  }
  if (address % width != 0) {
    bad_argument(hex(address) + " is not aligned to elements of " + std::to_string(width) + " bytes");
  }
}

}  // namespace anyplace::cpu_sim
