/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's bins: their owner, which takes no lock on the fast path, and the holder of the allocator's lock, which takes the bins
 * away for a while.
 *
 * The system may refuse membarrier from any moment on, for good. Then the bins stay their owner's until it has been to the lock.
 *
 * code:     core/memory/allocator/bins.h (enter, leave, bar, unbar), bins.cpp (wait_until_left, fence_all_threads), bins_life.cpp
 *           (Revocation, reclaim); asymmetric_fence.h
 * abstract: using the bins is a flag that says which thread does it; one owner, as each has bins of its own
 * checked:  on x86-TSO the two are never in the bins at once, the revoker gets in, and after a refusal the owner's next way leads to
 *           the lock
 *
 * check: safety
 * fault: NO_MEMBARRIER assertion     the revoker doesn't have the owner pass a fence
 * fault: BARRIER_FIRST assertion     the revoker makes the fence before it sets `revoked`
 * fault: LEAVES_EARLY assertion      the owner says that it left before it did
 * fault: REFUSAL_IGNORED assertion   the revoker goes on as if the fence had been made
 * fault: TRUSTS_UNFENCED assertion   the owner is said to fence itself since it was at the lock, and doesn't
 */
#define CPUS 2
#define VARIABLES 3
#include "tso.inc"

#define BUSY 0
#define REVOKED 1
#define LOCK 2

/* Bits of REVOKED. */
#define REVOKING 1
#define UNFENCED 2

byte inside;
bool refused;      /* membarrier */
bool owner_fences; /* under the lock; the owner reads it without */

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
#ifndef TRUSTS_UNFENCED
    if
    :: owner_fences -> buffer[cpu].used == 0
    :: else
    fi;
#endif
    load(REVOKED, revoked);
    if
    :: revoked ->
      /* The slow path: reclaim. */
      store(BUSY, 0);
      lock(LOCK);
      load(REVOKED, revoked);
      if
      :: revoked & UNFENCED ->
        work();
        owner_fences = true;
        exchange(REVOKED, 0)
      :: else
      fi;
      unlock(LOCK)
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
  byte cpu = 1, busy, revoked, calls;
  do
  :: calls < 2 ->
    lock(LOCK);
    load(REVOKED, revoked);
#ifdef BARRIER_FIRST
    membarrier();
#endif
    exchange(REVOKED, revoked | REVOKING);
    if
    :: revoked & UNFENCED
    :: !(revoked & UNFENCED) && !owner_fences ->
#if !defined(NO_MEMBARRIER) && !defined(BARRIER_FIRST)
      if
      :: !refused -> membarrier()
      :: refused = true; revoked = UNFENCED
      fi
#ifdef REFUSAL_IGNORED
      ; revoked = 0
#endif
#else
      skip
#endif
    :: else
    fi;
    if
    :: revoked & UNFENCED
    :: else ->
      do
      :: true ->
        load(BUSY, busy);
        if
        :: !busy -> break
        :: else
        fi
      od;
      work()
    fi;
    exchange(REVOKED, revoked & UNFENCED);
    unlock(LOCK);
    calls++
  :: else -> break
  od
}

init {
  atomic { run owner(); run revoker() }
}
