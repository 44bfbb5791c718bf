// SPDX-License-Identifier: Apache-2.0
//
// Timeouts: conversion of a public call's timeout to that of a backend's entry, and waiting until a Deadline, the
// moment that a timeout was turned into.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "anyplace/backend/kit/deadline.h"

namespace anyplace::detail {

/// Less than 0 counts as 0; the greatest duration counts as forever.
inline std::uint64_t to_timeout_ns(std::chrono::nanoseconds timeout) noexcept {
  if (timeout == std::chrono::nanoseconds::max()) return ANYPLACE_FOREVER;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
}

using backend::Deadline;
using backend::poll_until;

/// Waits until the predicate holds; it is called under the lock. False if time ran out and it still doesn't hold.
template <class Condition, class Lock, class Predicate>
bool wait_for_condition(Condition& condition, Lock& lock, const Deadline& deadline, Predicate&& predicate) {
  if (!deadline.forever()) return condition.wait_until(lock, deadline.at(), predicate);
  condition.wait(lock, predicate);
  return true;
}

}  // namespace anyplace::detail
