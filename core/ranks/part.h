// SPDX-License-Identifier: Apache-2.0
// Part is one operation of a communicator as a value, and computes how many bytes its counts are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anyplace/backend/engine.h"
#include "anyplace/communicator.h"

namespace anyplace::detail {

enum class Collective : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  send,
  recv,
  barrier,
};

/// "all_reduce" and so on.
const char* to_string(Collective what) noexcept;

struct Part {
  Collective what = Collective::barrier;
  DType type = DType::u8;
  Reduction reduction = Reduction::sum;
  std::int32_t root = 0;  ///< or the peer of send and recv
  std::uint64_t count = 0;
  /// A broadcast has the same address in both.
  anyplace_address destination = 0;
  anyplace_address source = 0;

  bool reduces() const noexcept {
    return what == Collective::all_reduce || what == Collective::reduce || what == Collective::reduce_scatter;
  }
  bool has_root() const noexcept {
    return what == Collective::reduce || what == Collective::broadcast || is_between_two();
  }
  bool is_between_two() const noexcept { return what == Collective::send || what == Collective::recv; }
  /// Return how many bytes the rank reads, and how many it writes.
  std::uint64_t source_bytes(int rank, int size) const noexcept;
  std::uint64_t destination_bytes(int rank, int size) const noexcept;
};

/// Returns the part in the form in which engines get it.
anyplace_engine_part crossing_part(const Part& part) noexcept;
std::vector<anyplace_engine_part> crossing_parts(const std::vector<Part>& parts);

/// "all_reduce of 4 f32 (sum)", for people.
std::string describe(const Part& part);

/// Throws invalid_argument if the part's type hasn't its reduction with any engine.
void require_reduction(const Part& part, const std::string& place, const char* operation);

}  // namespace anyplace::detail
