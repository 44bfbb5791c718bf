/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that is spread over threads: two workers and a host that helps run its pieces; the stream's next command is spread
 * too, with the same job.
 *
 * code:     backends/cpu_sim/spread.cpp (begin, run), stream.cpp (help, finish_elsewhere)
 * abstract: a piece is one unit; being ready is a flag of the scheduler's; that a run is stopped is left out
 * checked:  each unit runs once, before its command is complete; nobody touches the job of a command that is complete; the host
 *           runs nothing behind its target
 *
 * check: safety
 * fault: HOST_UNCHECKED assertion    the host that has claimed the job doesn't look whether its target was reached
 * fault: COUNTED_FIRST assertion     a piece is counted before it is run
 * fault: READY_FIRST assertion       the rest is readied before the piece is cut off
 */
#define UNITS 3
#define COMMANDS 2
#define TARGET 1

byte value;                  /* complete commands */
bool ready;
byte next, done;
bool ran[UNITS * COMMANDS];

inline begin() {
  next = 0;
  done = 0;
  ready = true
}

inline finish_elsewhere() {
  value++;
  if
  :: value < COMMANDS -> begin()
  :: else
  fi
}

/* By who has claimed the job. */
inline run_piece() {
  number = value; /* of the command, for the assertions */
  unit = next;
#ifdef READY_FIRST
  if
  :: unit + 1 < UNITS -> ready = true
  :: else
  fi;
  next = unit + 1;
#else
  next = unit + 1;
  if
  :: unit + 1 < UNITS -> ready = true
  :: else
  fi;
#endif
#ifdef COUNTED_FIRST
  atomic { done++; last = done == UNITS }
  if
  :: last -> finish_elsewhere()
  :: else
  fi;
#endif
  d_step {
    assert(value == number && !ran[UNITS * number + unit]);
    ran[UNITS * number + unit] = true
  }
#ifndef COUNTED_FIRST
  atomic { done++; last = done == UNITS }
  if
  :: last -> finish_elsewhere()
  :: else
  fi;
#endif
  d_step { number = 0; unit = 0; last = false }
}

proctype worker() {
  byte number, unit;
  bool last;
end:
  do
  :: atomic { ready -> ready = false }
    run_piece()
  od
}

proctype host() {
  byte number, unit;
  bool last;
  do
  :: value >= TARGET -> break
  :: atomic { ready -> ready = false }
#ifndef HOST_UNCHECKED
    if
    :: value >= TARGET -> ready = true
    :: else -> assert(value < TARGET); run_piece()
    fi
#else
    assert(value < TARGET);
    run_piece()
#endif
  od
}

proctype judge() {
  value == COMMANDS;
  assert(!ready && ran[0] && ran[1] && ran[2] && ran[3] && ran[4] && ran[5])
}

init {
  atomic { begin(); run worker(); run worker(); run host(); run judge() }
}
