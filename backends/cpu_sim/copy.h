// SPDX-License-Identifier: Apache-2.0
//
// Commands that move or fill memory. All memory of the simulator is memory of this process, so host, device and peer
// are one to them; what may be copied where is checked before, by the core.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_COPY_H
#define ANYPLACE_BACKENDS_CPU_SIM_COPY_H

#include <anyplace/backend/abi.h>

#include <cstdint>

#include "spread.h"

namespace anyplace::cpu_sim {

/// Bytes in one stretch.
class Copy final : public Spreadable {
 public:
  Copy(anyplace_address destination, anyplace_address source, uint64_t bytes) noexcept
      : destination_(destination), source_(source), bytes_(bytes) {}

  Extent extent() const noexcept override;
  void run_units(uint64_t begin, uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address destination_;
  anyplace_address source_;
  uint64_t bytes_;
};

/// Rows with a pitch.
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
  void run_units(uint64_t begin, uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address destination_;
  uint64_t destination_pitch_;
  anyplace_address source_;
  uint64_t source_pitch_;
  uint64_t width_;
  uint64_t rows_;
};

/// Elements of 1, 2 or 4 bytes at an address aligned to them.
class Fill final : public Spreadable {
 public:
  Fill(anyplace_address address, uint32_t value, uint32_t width, uint64_t count) noexcept
      : address_(address), count_(count), value_(value), width_(width) {}

  Extent extent() const noexcept override;
  void run_units(uint64_t begin, uint64_t end, std::atomic<bool>& stop) noexcept override;

 private:
  anyplace_address address_;
  uint64_t count_;
  uint32_t value_;
  uint32_t width_;
};

// Each throws Failure(INVALID_ARGUMENT) for what the command can't do.
void check_copy_kind(uint32_t kind);
void check_copy_2d(const anyplace_copy_2d& copy);
void check_fill(anyplace_address address, uint32_t width);

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_COPY_H
