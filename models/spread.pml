/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that is spread over threads: the thread that has the stream's turn, two workers and a host that helps take ranges off
 * it; the stream's next command is spread too, with the same job.
 *
 * code:     backends/cpu_sim/spread.cpp (begin, invite, run, run_ranges), stream.cpp (help, finish_elsewhere), scheduler.cpp
 *           (withdraw)
 * abstract: a range is one unit; being in the scheduler's queue is a flag; when a thread gives way is left open; that a run is
 *           stopped is left out
 * checked:  each unit runs once, before its command is complete; nobody touches the job of a command that is complete; the host
 *           runs nothing behind its target
 *
 * check: safety
 * fault: HOST_UNCHECKED assertion    the host that has claimed the job doesn't look whether its target was reached
 * fault: NOT_COUNTED assertion       the invitation isn't counted while it is out
 * fault: COUNTED_LATE assertion      the invitation is counted when it is in the queue already
 * fault: LEAVES assertion            a thread gives way without an invitation for others
 */
#define UNITS 3
#define COMMANDS 2
#define TARGET 1

byte value;    /* complete commands */
bool ready;    /* the invitation is in the queue */
bool invited;  /* it is, or is about to be, or was just taken */
byte next;
byte parties;
bool ran[UNITS * COMMANDS];
bool several;  /* threads may run tasks; if not, there are invitations only when one gives way */

inline invite() {
  atomic { old = invited; invited = true }
  if
  :: old
  :: else ->
#ifdef COUNTED_LATE
    ready = true;
    parties++
#else
#ifndef NOT_COUNTED
    parties++;
#endif
    ready = true
#endif
  fi;
  old = false
}

/* Leaves whether this was the last party in `last`. */
inline run_ranges() {
  number = value; /* of the command, for the assertions */
  do
  :: atomic { unit = next; next = (next < UNITS -> next + 1 : next) }
    if
    :: unit >= UNITS -> break
    :: else
    fi;
    d_step {
      assert(value == number && !ran[UNITS * number + unit]);
      ran[UNITS * number + unit] = true
    }
    if
    :: unit == UNITS - 1 -> break
    :: else
    fi;
    if
    :: true
    :: next < UNITS ->
#ifndef LEAVES
      invite();
#endif
      gave_way = true;
      break
    fi
  od;
  if
  :: gave_way
  :: else ->
    atomic {
      if
      :: ready ->
        ready = false;
#ifndef NOT_COUNTED
        parties--
#endif
      :: else
      fi
    }
  fi;
  atomic { assert(parties > 0 && value == number); parties--; last = parties == 0 }
  d_step { number = 0; unit = 0; gave_way = false }
}

/* By the last party: it has the turn. */
inline complete() {
  d_step {
    assert(ran[UNITS * value] && ran[UNITS * value + 1] && ran[UNITS * value + 2]);
    value++;
    last = false
  }
}

/* The commands that are left, one after the other, as long as this thread keeps the turn. */
inline take_turn() {
  do
  :: value < COMMANDS ->
    next = 0;
    parties = 1;
    invited = false;
    if
    :: several -> invite()
    :: else
    fi;
    run_ranges();
    if
    :: last -> complete()
    :: else -> break
    fi
  :: else -> break
  od
}

/* By who has taken the invitation. */
inline join() {
  invited = false;
#ifdef NOT_COUNTED
  parties++;
#endif
  if
  :: next < UNITS && several -> invite()
  :: else
  fi;
  run_ranges();
  if
  :: last -> complete(); take_turn()
  :: else
  fi
}

proctype worker() {
  byte number, unit;
  bool last, old, gave_way;
end:
  do
  :: atomic { ready -> ready = false }
    join()
  od
}

proctype first() {
  byte number, unit;
  bool last, old, gave_way;
  take_turn()
}

proctype host() {
  byte number, unit;
  bool last, old, gave_way;
  do
  :: value >= TARGET -> break
  :: atomic { ready -> ready = false }
#ifndef HOST_UNCHECKED
    if
    :: value >= TARGET -> ready = true
    :: else -> assert(value < TARGET); join()
    fi
#else
    assert(value < TARGET);
    join()
#endif
  od
}

proctype judge() {
  value == COMMANDS;
  assert(!ready && ran[0] && ran[1] && ran[2] && ran[3] && ran[4] && ran[5])
}

init {
  atomic {
    if
    :: several = true
    :: several = false
    fi;
    run first();
    run worker();
    run worker();
    run host();
    run judge()
  }
}
