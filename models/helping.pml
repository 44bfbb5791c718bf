/* SPDX-License-Identifier: Apache-2.0
 *
 * A host thread that synchronises and helps: it runs what its target depends on, found by hints that may be old, while two
 * workers run everything.
 *
 * code:     backends/cpu_sim/help.cpp (help), stream.cpp (take_turn, wait, help), record.h, scheduler.cpp (claim)
 * abstract: three streams with scripts; a hint is read and written in one step (event_record.pml is about that); parking and waking are one step each (advance_park.pml is about them), and so are claiming
 *           and going idle (submit_idle.pml); that a stream is recycled and goes on with another owner's commands is that it goes
 *           on with commands which the host doesn't wait for
 * checked:  the host runs nothing that its target doesn't depend on, so it is never caught in a kernel of somebody else's (one
 *           here ends only once the host has gone on); one thread at a time has a stream's turn; everything is run in the end
 *
 * check: safety
 * fault: TORN_HINT assertion        the hint's two words may be of two waits
 * fault: LOOKS_BEFORE assertion     whether the record is complete is looked at before the hint is read, and not after
 * fault: FORGETS_THE_REST end state  the host has what it wants and doesn't pass the stream on
 */
#define A 0 /* 1 waits for B's 1; 2 kernel; 3 waits for C's 2; 4 kernel */
#define B 1 /* 1 kernel; 2 kernel, which ends when the host has gone on */
#define C 2 /* 1 kernel; 2 kernel */
#define STREAMS 3
#define NOBODY 9
#define NO_LIMIT 9

#define LENGTH(stream) (stream == A -> 4 : 2)
#define WAITS(stream, number) (stream == A && (number == 1 || number == 3))
#define AWAITED(number) (number == 1 -> B : C)
#define AWAITED_TARGET(number) (number == 1 -> 1 : 2)
/* Whether A's `goal` depends on the command. */
#define NEEDED(stream, number) \
  ((stream == A && number <= goal) || (stream == B && number == 1) || (stream == C && goal >= 3))

byte goal; /* the host waits until A has done so many */
bool host_went_on;

byte value[STREAMS];
bool ready[STREAMS] = true;
byte waiting_on[STREAMS] = NOBODY, waiting_target[STREAMS]; /* the hints, which stay */

/* What stands for Timeline's list. */
byte parked_on[STREAMS] = NOBODY, parked_target[STREAMS];
byte turns[STREAMS];

inline wake(who, raised) {
  if
  :: parked_on[who] == raised && parked_target[who] <= value[raised] ->
    parked_on[who] = NOBODY;
    assert(!ready[who] && turns[who] == 0);
    ready[who] = true
  :: else
  fi
}

inline advance(which) {
  d_step { value[which]++; wake(A, which); wake(B, which); wake(C, which) }
}

inline take_turn(which) {
  ready[which] = false;
  assert(turns[which] == 0);
  turns[which]++
}

/* The wait at the front: leaves in `over` whether the stream is parked, and then no longer the caller's. */
inline wait_or_park(which, number) {
  if
  :: value[AWAITED(number)] >= AWAITED_TARGET(number)
  :: else ->
#ifdef TORN_HINT
    waiting_target[which] = AWAITED_TARGET(number);
    waiting_on[which] = AWAITED(number);
#else
    d_step { waiting_target[which] = AWAITED_TARGET(number); waiting_on[which] = AWAITED(number) }
#endif
    atomic {
      if
      :: value[AWAITED(number)] >= AWAITED_TARGET(number)
      :: else ->
        parked_on[which] = AWAITED(number);
        parked_target[which] = AWAITED_TARGET(number);
        turns[which]--;
        over = true
      fi
    }
  fi
}

inline run_turn(which, limit, is_host) {
  over = false;
  do
  :: over -> break
  :: !over && value[which] == LENGTH(which) -> turns[which]--; break
  :: !over && value[which] < LENGTH(which) && value[which] >= limit ->
#ifdef FORGETS_THE_REST
    turns[which]--;
#else
    atomic { turns[which]--; ready[which] = true }
#endif
    break
  :: !over && value[which] < LENGTH(which) && value[which] < limit ->
    assert(!is_host || NEEDED(which, value[which] + 1));
    if
    :: WAITS(which, value[which] + 1) -> wait_or_park(which, value[which] + 1)
    :: which == B && value[which] == 1 -> host_went_on
    :: else
    fi;
    if
    :: !over -> advance(which)
    :: else
    fi
  od;
  over = false
}

active [2] proctype worker() {
  byte mine;
  bool over;
end:
  do
  :: atomic {
      if
      :: ready[A] -> mine = A
      :: ready[B] -> mine = B
      :: ready[C] -> mine = C
      fi;
      take_turn(mine)
    }
    run_turn(mine, NO_LIMIT, false);
    mine = 0
  od
}

/* `which` waits for the next link of the chain, or begins anew with A. */
inline follow_hint() {
#ifdef LOOKS_BEFORE
  complete = value[which] >= target;
#endif
#ifdef TORN_HINT
  next = waiting_on[which];
  next_target = waiting_target[which];
#else
  d_step { next = waiting_on[which]; next_target = waiting_target[which] }
#endif
#ifndef LOOKS_BEFORE
  complete = value[which] >= target;
#endif
  if
  :: !complete && next != NOBODY -> which = next; target = next_target
  :: else -> which = A; target = goal
  fi;
  d_step { complete = false; next = 0; next_target = 0 }
}

active proctype host() {
  byte which = A, target, next, next_target;
  bool over, complete;
  select(goal : 2 .. 3);
  target = goal;
  do
  :: which == A && value[A] >= goal -> break
  :: which != A && value[which] >= target -> which = A; target = goal
  :: value[which] < target ->
    if
    :: atomic { ready[which] -> take_turn(which) }
      run_turn(which, target, true);
      which = A;
      target = goal
    :: !ready[which] -> follow_hint()
    :: value[A] >= goal -> which = A; target = goal /* it slept until then */
    fi
  od;
  host_went_on = true
}

active proctype judge() {
  value[A] == LENGTH(A) && value[B] == LENGTH(B) && value[C] == LENGTH(C);
  turns[A] + turns[B] + turns[C] == 0;
  assert(!ready[A] && !ready[B] && !ready[C])
}
