// SPDX-License-Identifier: Apache-2.0
// NoDestructor: an object with static storage that is initialised at compile time and never destroyed, so that threads
// and destructors that outlive main can still use it.
#pragma once

#include <utility>

namespace anyplace::detail {

/// Declare it `static constinit`.
template <class T>
union NoDestructor {
  T value;

  template <class... Args>
  explicit constexpr NoDestructor(Args&&... args) noexcept : value(std::forward<Args>(args)...) {}
  NoDestructor(const NoDestructor&) = delete;  // it stays where it is
  NoDestructor& operator=(const NoDestructor&) = delete;
  ~NoDestructor() {}  // NOLINT: leaving `value` alone is the point
};

}  // namespace anyplace::detail
