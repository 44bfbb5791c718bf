/* SPDX-License-Identifier: Apache-2.0
 *
 * A timeline: a thread that raises it, a stream that parks on it, and a host thread that waits for it, with a time limit, twice.
 *
 * code:     backends/cpu_sim/timeline.h, timeline.cpp (advance, wake_reached, park, withdraw,
 *           wait)
 * abstract: the value goes 0, 1, 2; the list of waiters is a flag for each; the futex of the host's parker is its word (that a
 *           thread sleeps only while the word is as it was is the kernel's part)
 * checked:  on x86-TSO no wake-up is lost, a waiter is woken once and only when its target is reached, a stream is not woken
 *           before the thread that parked it is done with it, and nobody wakes a host thread whose waiter is gone
 *
 * check: safety
 * fault: PLAIN_ADVANCE end state     the value is stored without a fence
 * fault: PLAIN_PARK end state        the lowest target is stored without a fence
 * fault: NO_SECOND_LOOK end state    the parking thread doesn't read the value again
 * fault: LEAVES_AT_ONCE assertion    the host's time is over and it is no longer in the list, and it doesn't wait for its wake-up
 */
#define CPUS 3
#define VARIABLES 3
#include "tso.inc"

#define VALUE 0
#define LOWEST 1
#define WAIT_LOCK 2
#define LAST 2
#define NOBODY 9

#define STREAM 0
#define HOST 1

/* Under WAIT_LOCK. */
bool listed[2];
byte target[2];

bool touched[2];    /* the parker is still busy with the waiter */
bool alive[2];      /* the waiter is there */
byte woken[2];

inline find_lowest() {
  d_step {
    lowest = NOBODY;
    if
    :: listed[STREAM] -> lowest = target[STREAM]
    :: else
    fi;
    if
    :: listed[HOST] && target[HOST] < lowest -> lowest = target[HOST]
    :: else
    fi
  }
}

/* Raising it needs no fence. */
inline raise_lowest() {
  find_lowest();
  store(LOWEST, lowest);
  lowest = 0
}

inline lower_lowest() {
  find_lowest();
#ifdef PLAIN_PARK
  store(LOWEST, lowest);
#else
  exchange(LOWEST, lowest);
#endif
  lowest = 0
}

inline take_out(who) {
  if
  :: listed[who] && target[who] <= now -> listed[who] = false; taken[who] = true
  :: else
  fi
}

inline wake(who) {
  if
  :: taken[who] ->
    taken[who] = false;
    assert(alive[who] && !touched[who] && woken[who] == 0);
    woken[who] = 1
  :: else
  fi
}

proctype advance() {
  byte cpu = 0, now = 1, lowest;
  bool taken[2];
  do
  :: now <= LAST ->
#ifdef PLAIN_ADVANCE
    store(VALUE, now);
#else
    exchange(VALUE, now);
#endif
    load(LOWEST, lowest);
    if
    :: lowest > now
    :: else ->
      lock(WAIT_LOCK);
      d_step { take_out(STREAM); take_out(HOST) }
      raise_lowest();
      unlock(WAIT_LOCK);
      atomic { wake(STREAM) }
      atomic { wake(HOST) }
    fi;
    lowest = 0;
    now++
  :: else -> break
  od
}

/* Leaves in `parked` whether the waiter is in the list. */
inline park(who, at) {
  touched[who] = true;
  lock(WAIT_LOCK);
  target[who] = at;
  listed[who] = true;
  lower_lowest();
  load(VALUE, value);
#ifdef NO_SECOND_LOOK
  value = 0;
#endif
  if
  :: value >= at ->
    listed[who] = false;
    raise_lowest();
    parked = false
  :: else -> parked = true
  fi;
  touched[who] = false;
  unlock(WAIT_LOCK)
}

proctype stream_parks(byte at) {
  byte cpu = 1, value, lowest;
  bool parked;
  alive[STREAM] = true;
  park(STREAM, at);
  if
  :: parked -> woken[STREAM] == 1
  :: else -> assert(woken[STREAM] == 0)
  fi;
  load(VALUE, value);
  assert(value >= at)
}

proctype host_waits() {
  byte cpu = 2, value, lowest, at = 1;
  bool parked, given_up;
  do
  :: at <= LAST ->
    atomic { alive[HOST] = true; woken[HOST] = 0; given_up = false }
    park(HOST, at);
    if
    :: parked ->
      if
      :: woken[HOST] == 1
      :: true -> /* out of time */
        lock(WAIT_LOCK);
        if
        :: listed[HOST] ->
          listed[HOST] = false;
          raise_lowest();
          unlock(WAIT_LOCK);
          given_up = true
        :: else ->
          unlock(WAIT_LOCK);
#ifndef LEAVES_AT_ONCE
          woken[HOST] == 1
#endif
        fi
      fi
    :: else -> assert(woken[HOST] == 0)
    fi;
    if
    :: !given_up -> load(VALUE, value); assert(value >= at)
    :: else
    fi;
    alive[HOST] = false;
    at++
  :: else -> break
  od
}

init {
  byte at;
  memory[LOWEST] = NOBODY;
  select(at : 1 .. LAST);
  atomic { run advance(); run stream_parks(at); run host_waits() }
}
