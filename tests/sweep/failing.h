// SPDX-License-Identifier: Apache-2.0
//
// Allocations and threads that fail on demand, of the whole process. A program that is linked with failing.cpp has its
// own malloc, operator new and pthread_create, which everything that is loaded later uses too; they pass on to the
// system's but for the calls that were asked to fail.
#pragma once

namespace failing {

enum class Kind { allocations, threads };
inline constexpr long for_good = -1;

/// From now on calls of that kind are counted, from 1, and those from `first` on fail, `how_many` of them. Any thread's
/// count.
void arm(Kind kind, long first, long how_many) noexcept;
/// What is counted, and none fails any more.
void disarm() noexcept;
/// Calls since arm(), and how many of them failed.
long made() noexcept;
long failed() noexcept;
/// From now on each failed call leaves its call stack on standard error. Call it once while nothing fails: it
/// allocates.
void show_where();

}  // namespace failing
