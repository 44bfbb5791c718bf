/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that is spread over threads: the stream's owner, two workers and a host that helps take ranges off
 * it; the stream's next command is spread too, with the same job.
 *
 * code:     backends/cpu_sim/spread.cpp (begin, enqueue_once, run, run_ranges), stream.cpp (help, finish_elsewhere), scheduler.cpp
 *           (withdraw)
 * abstract: a range is one unit; being in the scheduler's queue is a flag; when a thread yields is left open; that a run is
 *           stopped is left out
 * checked:  each unit runs once, before its command is complete; nobody touches the job of a command that is complete; the host
 *           runs nothing behind its target
 *
 * check: safety
 * fault: HOST_UNCHECKED assertion    the host that has claimed the job doesn't look whether its target was reached
 * fault: NOT_COUNTED assertion       the job isn't counted while it is in the queue
 * fault: COUNTED_LATE assertion      the job is counted when it is in the queue already
 * fault: LEAVES assertion            a thread yields without the job in the queue for others
 */
#define UNITS 3
#define COMMANDS 2
#define TARGET 1

byte value;    /* complete commands */
bool ready;    /* the job is in the queue */
bool enqueued;  /* it is, or is about to be, or was just taken */
byte next;
byte users;
bool ran[UNITS * COMMANDS];
bool several;  /* threads may run tasks; if not, the job is enqueued only when one yields */

inline enqueue_once() {
  atomic { old = enqueued; enqueued = true }
  if
  :: old
  :: else ->
#ifdef COUNTED_LATE
    ready = true;
    users++
#else
#ifndef NOT_COUNTED
    users++;
#endif
    ready = true
#endif
  fi;
  old = false
}

/* Leaves whether this was the last user in `last`. */
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
      enqueue_once();
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
        users--
#endif
      :: else
      fi
    }
  fi;
  atomic { assert(users > 0 && value == number); users--; last = users == 0 }
  d_step { number = 0; unit = 0; gave_way = false }
}

/* By the last user: it owns the stream. */
inline complete() {
  d_step {
    assert(ran[UNITS * value] && ran[UNITS * value + 1] && ran[UNITS * value + 2]);
    value++;
    last = false
  }
}

/* The commands that are left, one after the other, as long as this thread owns the stream. */
inline run_slice() {
  do
  :: value < COMMANDS ->
    next = 0;
    users = 1;
    enqueued = false;
    if
    :: several -> enqueue_once()
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

/* By a thread that has taken the job. */
inline join() {
  enqueued = false;
#ifdef NOT_COUNTED
  users++;
#endif
  if
  :: next < UNITS && several -> enqueue_once()
  :: else
  fi;
  run_ranges();
  if
  :: last -> complete(); run_slice()
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
  run_slice()
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
