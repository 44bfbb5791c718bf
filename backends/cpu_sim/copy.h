// SPDX-License-Identifier: Apache-2.0
//
// This header has the commands that move or fill memory. All memory of the simulator is memory of this process, so
// host, device and peer make no difference here. The core has checked what may be copied where.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "short_copy.h"
#include "spread.h"

namespace anyplace::cpu_sim {

/// Copies contiguous bytes, more than short_limit.
class Copy final : public Spreadable {
 public:
  Copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes) noexcept
      : destination_(destination), source_(source), bytes_(bytes) {}

  Extent extent() const noexcept override;
  void describe(Operation& out) const override;
  void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address destination_;
  anyplace_address source_;
  std::uint64_t bytes_;
};

/// Copies bytes that it has read when it was submitted (Director::choose_in_call).
class StagedCopy final : public Command {
 public:
  StagedCopy(anyplace_address destination, std::unique_ptr<std::byte[]> bytes, std::uint64_t count) noexcept
      : destination_(destination), bytes_(std::move(bytes)), count_(count) {}

  Progress execute(Stream& stream) noexcept override;
  void describe(Operation& out) const override;

 private:
  anyplace_address destination_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t count_;
};

/// Copies rows with a pitch.
class Copy2d final : public Spreadable {
 public:
  explicit Copy2d(const anyplace_copy_2d& copy) noexcept
      : destination_(copy.destination),
        destination_pitch_(copy.destination_pitch),
        source_(copy.source),
        source_pitch_(copy.source_pitch),
        width_(copy.width),
        rows_(copy.rows) {}

  Extent extent() const noexcept override;
  void describe(Operation& out) const override;
  void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address destination_;
  std::uint64_t destination_pitch_;
  anyplace_address source_;
  std::uint64_t source_pitch_;
  std::uint64_t width_;
  std::uint64_t rows_;
};

/// Fills elements of 1, 2 or 4 bytes, more than short_limit in all, at an address that is aligned to them.
class Fill final : public Spreadable {
 public:
  Fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count) noexcept
      : address_(address), count_(count), value_(value), width_(width) {}

  Extent extent() const noexcept override;
  void describe(Operation& out) const override;
  void run_units(std::uint64_t begin, std::uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address address_;
  std::uint64_t count_;
  std::uint32_t value_;
  std::uint32_t width_;
};

// Each submits what its size asks for. It throws if there is no memory or no thread; then nothing was submitted.
void submit_copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes);
void submit_fill(Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                 std::uint64_t count);

/// Submits a StagedCopy. Throws std::bad_alloc; then nothing was submitted.
void submit_staged_copy(Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes);

// Each throws Failure(INVALID_ARGUMENT) if the command can't do what was asked.
void check_copy_kind(std::uint32_t kind);
void check_copy_2d(const anyplace_copy_2d& copy);
void check_fill(anyplace_address address, std::uint32_t width);

}  // namespace anyplace::cpu_sim
