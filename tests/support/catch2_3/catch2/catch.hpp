// SPDX-License-Identifier: Apache-2.0
//
// The header of Catch2 2, which Debian 12 has, where there is Catch2 3: what the tests use of it, under the names that it has there.
#pragma once

#include <catch2/catch_all.hpp>

#include <string>

namespace Catch {
using Matchers::EndsWith;
using Matchers::StartsWith;
using Matchers::WithinAbs;
using Matchers::WithinRel;

inline auto Contains(const std::string& part, CaseSensitive sensitivity = CaseSensitive::Yes) {
  return Matchers::ContainsSubstring(part, sensitivity);
}
}  // namespace Catch

using Catch::Approx;
