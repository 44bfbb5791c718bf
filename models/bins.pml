/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's bins: their owner, who takes nothing from anybody on the short way, and the holder of the allocator's lock, who takes
 * the bins away for a while.
 *
 * code:     core/allocator/bins.h (enter, leave, bar, unbar), bins.cpp (wait_until_left, fence_all_threads); asymmetric_fence.h
 * abstract: what is done with the bins is a flag that says who does it; one owner, as each has bins of its own
 * checked:  on x86-TSO the two are never in the bins at once, and the revoker gets in
 *
 * check: safety
 * fault: NO_MEMBARRIER assertion     the revoker doesn't have the owner pass a fence
 * fault: BARRIER_FIRST assertion     it has, but before it sets `revoked`
 * fault: LEAVES_EARLY assertion      the owner says that it left before it did
 */
#define CPUS 2
#define VARIABLES 2
#include "tso.inc"

#define BUSY 0
#define REVOKED 1

byte inside;

inline work() {
  inside++;
  assert(inside == 1);
  inside--
}

proctype owner() {
  byte cpu = 0, revoked, calls;
  do
  :: calls < 2 ->
    store(BUSY, 1);
    load(REVOKED, revoked);
    if
    :: revoked
    :: else ->
#ifdef LEAVES_EARLY
      store(BUSY, 0);
#endif
      work()
    fi;
    store(BUSY, 0);
    calls++
  :: else -> break
  od
}

proctype revoker() {
  byte cpu = 1, busy, calls;
  do
  :: calls < 2 ->
#ifdef BARRIER_FIRST
    membarrier();
#endif
    exchange(REVOKED, 1);
#if !defined(NO_MEMBARRIER) && !defined(BARRIER_FIRST)
    membarrier();
#endif
    do
    :: true ->
      load(BUSY, busy);
      if
      :: !busy -> break
      :: else
      fi
    od;
    work();
    store(REVOKED, 0);
    calls++
  :: else -> break
  od
}

init {
  atomic { run owner(); run revoker() }
}
