// SPDX-License-Identifier: Apache-2.0
// A call of an operation, as ranks compare it, and its arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "nccl/nccl_library.h"

namespace anyplace::doubles::nccl {

enum class What : std::int32_t { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, recv };

struct Call {
  What what = What::all_reduce;
  std::int32_t type = 0;
  std::int32_t op = 0;
  std::int32_t root = 0;  ///< or the peer
  std::uint64_t count = 0;

  friend bool operator==(const Call&, const Call&) = default;
};

/// "ncclAllReduce of 4 ncclFloat32 (ncclSum)".
std::string text_of(const Call& call);
/// Bytes of an element; 0 for no type.
std::size_t size_of_type(int type) noexcept;
/// inout[i] = inout[i] op in[i].
void combine(void* inout, const void* in, std::uint64_t count, int type, int op) noexcept;
/// For ncclAvg.
void divide(void* data, std::uint64_t count, int type, int by) noexcept;

}  // namespace anyplace::doubles::nccl
