// SPDX-License-Identifier: Apache-2.0
// Elements of any type as numbers, and back.
#pragma once

#include <anyplace/dtype.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace demo {

/// Small whole numbers that every type holds exactly. Complex ones get the number as their real part, and 0.
std::vector<std::byte> pack(anyplace::DType type, const std::vector<double>& values);
/// Real parts.
std::vector<double> unpack(anyplace::DType type, const std::vector<std::byte>& bytes);
/// How far from the exact result a type may be, of 1: what its mantissa holds.
double precision(anyplace::DType type) noexcept;

}  // namespace demo
