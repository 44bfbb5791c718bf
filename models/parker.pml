/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a thread sleeps until another gives it the token: a thread that waits for it twice, first with a time limit, and two that
 * give it.
 *
 * code:     backends/cpu_sim/parker.h, parker.cpp (park, park_for, unpark)
 * abstract: the system sleeps on the word while it has the value that is passed, and looks at it and falls asleep in one step; a
 *           sleeper may wake at any time for no reason; every access to the word is a locked operation or under the other's eyes
 * checked:  a token that is given is taken once, and nobody sleeps on while it is there
 *
 * check: safety
 * fault: BLIND_SLEEP end state       a thread falls asleep whatever the word says by then
 * fault: WAKES_NONE end state        the giving thread doesn't check whether the other one is asleep
 * fault: OVERWRITES end state        the waking thread resets the word without reading what it was
 */
#define NOTHING 0
#define TOKEN 1
#define ASLEEP 2

byte state = NOTHING;
bool sleeping; /* in the system, until it is woken */
byte taken;    /* tokens */

inline unpark() {
  atomic {
    before = state;
    assert(before != TOKEN);
    state = TOKEN
  }
#ifndef WAKES_NONE
  if
  :: before == ASLEEP -> sleeping = false
  :: else
  fi;
#endif
  before = 0
}

/* Leaves in `got` whether it took the token. */
inline park(has_limit) {
  got = false;
  do
  :: atomic { state == TOKEN -> state = NOTHING; got = true; taken++ } break
  :: state != TOKEN && has_limit -> break /* out of time */
  :: atomic { state == NOTHING -> state = ASLEEP }
#ifdef BLIND_SLEEP
    sleeping = true;
#else
    atomic {
      if
      :: state == ASLEEP -> sleeping = true
      :: else
      fi
    }
#endif
    if
    :: !sleeping
    :: has_limit -> sleeping = false
    fi;
#ifdef OVERWRITES
    state = NOTHING;
#else
    atomic {
      if
      :: state == TOKEN -> got = true; taken++
      :: else
      fi;
      state = NOTHING
    }
#endif
    if
    :: got -> break
    :: else
    fi
  od
}

proctype sleeper() {
  bool got;
  park(true);
  if
  :: !got -> park(false)
  :: else
  fi;
  park(false)
}

/* The second gives its token when the first one's was taken, and may still be busy with giving it. */
proctype waker(byte number) {
  byte before;
  taken == number;
  unpark()
}

init {
  atomic { run sleeper(); run waker(0); run waker(1) }
}
