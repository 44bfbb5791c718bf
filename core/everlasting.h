// SPDX-License-Identifier: Apache-2.0
// Everlasting: an object with static storage that is made before everything and never destroyed, so that threads and
// destructors that outlive main still find it.
#pragma once

#include <utility>

namespace anyplace::detail {

/// Declare it `static constinit`.
template <class T>
union Everlasting {
  T value;

  template <class... Args>
  explicit constexpr Everlasting(Args&&... args) noexcept : value(std::forward<Args>(args)...) {}
  Everlasting(const Everlasting&) = delete;  // it stays where it is
  Everlasting& operator=(const Everlasting&) = delete;
  ~Everlasting() {}  // NOLINT: leaving `value` alone is the point
};

}  // namespace anyplace::detail
