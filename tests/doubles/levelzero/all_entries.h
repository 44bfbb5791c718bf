// SPDX-License-Identifier: Apache-2.0
//
// Every entry of the double, for tests that call each of them with arguments that say nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "entries.h"
#include "test_support.h"

namespace test {

template <class... Arguments>
ze_result_t call_with_zeros(ze_result_t (*entry)(Arguments...)) {
  return entry(Arguments{}...);
}
template <class... Arguments>
ze_result_t call_with_wrong_handle(ze_result_t (*entry)(Arguments...), std::uint64_t value) {
  // For all that points at a struct that isn't const; of these only the handle comes to be looked at.
  const auto argument = [value](auto zero) {
    using Type = decltype(zero);
    using Pointee = std::remove_pointer_t<Type>;
    if constexpr (std::is_pointer_v<Type> && std::is_class_v<Pointee> && !std::is_const_v<Pointee>) {
      return reinterpret_cast<Type>(value);  // NOLINT: a number
    } else {
      return zero;
    }
  };
  return entry(argument(Arguments{})...);
}

struct Entry {
  const char* symbol;
  std::function<ze_result_t()> with_zeros;
  std::function<ze_result_t(std::uint64_t)> with_wrong_handle;
};

#define LEVELZERO_TEST_ENTRY(symbol)                     \
  Entry{#symbol, [] { return call_with_zeros(symbol); }, \
        [](std::uint64_t v) { return call_with_wrong_handle(symbol, v); }},
#define LEVELZERO_TEST_OLD(table, member, kind, symbol, parameters, arguments) LEVELZERO_TEST_ENTRY(symbol)
#define LEVELZERO_TEST_NEWER(symbol, parameters, arguments) LEVELZERO_TEST_ENTRY(symbol)
inline const std::vector<Entry> all_entries = {LEVELZERO_DOUBLE_ENTRIES(LEVELZERO_TEST_OLD)
                                                   LEVELZERO_DOUBLE_NEWER_ENTRIES(LEVELZERO_TEST_NEWER)};
#undef LEVELZERO_TEST_NEWER
#undef LEVELZERO_TEST_OLD
#undef LEVELZERO_TEST_ENTRY

}  // namespace test
