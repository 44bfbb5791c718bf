/* SPDX-License-Identifier: Apache-2.0
 *
 * A host thread that synchronises and helps: it runs what its target depends on, found by hints that may be old, while two
 * workers run everything.
 *
 * code:     backends/cpu_sim/help.cpp (help), stream.cpp (run_slice, wait, help, help_run), record.h, scheduler.cpp (claim)
 * abstract: three streams with scripts; a hint is read and written in one step (event_record.pml is about that), and so are parking
 *           and waking (advance_park.pml), claiming and going idle (submit_idle.pml); of what a stream waits for the hint alone is
 *           followed: what the code keeps of submitted waits up to the target are dependencies whenever they are read; that a
 *           stream is recycled and goes on with another owner's commands is that it goes on with commands which the host doesn't
 *           wait for
 * checked:  the host runs nothing that its target doesn't depend on, so it never runs a kernel that it doesn't wait for (one here
 *           ends only once the host has gone on); one thread at a time owns a stream; everything is run in the end
 *
 * check: safety
 * fault: TORN_HINT assertion        the hint's two words may be of two waits
 * fault: LOOKS_BEFORE assertion     whether the record is complete is looked at before the hint is read, and not after
 * fault: WOKEN_UNCHECKED assertion   the same of a hint that is read when the slice is over, for a stream that this one woke
 * fault: FORGETS_THE_REST end state  the host's target is reached and it doesn't pass the stream on
 */
#define A 0 /* 1 kernel; 2 waits for B's 1; 3 kernel; 4 waits for C's 2; 5 kernel */
#define B 1 /* 1 kernel; 2 kernel, which ends when the host has gone on */
#define C 2 /* 1 waits for A's 1; 2 kernel */
#define STREAMS 3
#define NOBODY 9
#define NO_LIMIT 9

#define LENGTH(stream) (stream == A -> 5 : 2)
#define WAITS(stream, number) ((stream == A && (number == 2 || number == 4)) || (stream == C && number == 1))
#define AWAITED(stream, number) (stream == C -> A : (number == 2 -> B : C))
#define AWAITED_TARGET(stream, number) (stream == A && number == 4 -> 2 : 1)
/* Whether A's `goal` depends on the command. */
#define NEEDED(stream, number) \
  ((stream == A && number <= goal) || (stream == B && number == 1) || (stream == C && goal >= 4))

byte goal; /* the host waits until A has done so many */
bool host_went_on;

byte value[STREAMS];
bool ready[STREAMS] = true;
byte waiting_on[STREAMS] = NOBODY, waiting_target[STREAMS]; /* the hints, which stay */

/* What stands for Timeline's list. */
byte parked_on[STREAMS] = NOBODY, parked_target[STREAMS];
byte owners[STREAMS];

inline wake(who, raised, is_host) {
  if
  :: parked_on[who] == raised && parked_target[who] <= value[raised] ->
    parked_on[who] = NOBODY;
    assert(!ready[who] && owners[who] == 0);
    if
    :: is_host && woken == NOBODY -> owners[who]++; woken = who
    :: else -> ready[who] = true
    fi
  :: else
  fi
}

inline advance(which, is_host) {
  d_step { value[which]++; wake(A, which, is_host); wake(B, which, is_host); wake(C, which, is_host) }
}

inline pass_on(which) {
  d_step { assert(!ready[which]); owners[which]--; ready[which] = true }
}

inline run_slice(which) {
  ready[which] = false;
  assert(owners[which] == 0);
  owners[which]++
}

/* The wait at the front: leaves in `over` whether the stream is parked, and then no longer the caller's. */
inline wait_or_park(which, number) {
  if
  :: value[AWAITED(which, number)] >= AWAITED_TARGET(which, number)
  :: else ->
#ifdef TORN_HINT
    waiting_target[which] = AWAITED_TARGET(which, number);
    waiting_on[which] = AWAITED(which, number);
#else
    d_step { waiting_target[which] = AWAITED_TARGET(which, number); waiting_on[which] = AWAITED(which, number) }
#endif
    atomic {
      if
      :: value[AWAITED(which, number)] >= AWAITED_TARGET(which, number)
      :: else ->
        parked_on[which] = AWAITED(which, number);
        parked_target[which] = AWAITED_TARGET(which, number);
        owners[which]--;
        over = true
      fi
    }
  fi
}

#define PARKS_NEXT(which) \
  (WAITS(which, value[which] + 1) && value[AWAITED(which, value[which] + 1)] < AWAITED_TARGET(which, value[which] + 1))

inline run_stream(which, limit, is_host) {
  over = false;
  do
  :: over -> break
  :: !over && value[which] == LENGTH(which) -> owners[which]--; break
  :: !over && value[which] < LENGTH(which) && value[which] >= limit ->
#ifdef FORGETS_THE_REST
    owners[which]--;
#else
    pass_on(which);
#endif
    break
  :: !over && value[which] < LENGTH(which) && value[which] < limit ->
    assert(!is_host || NEEDED(which, value[which] + 1));
    if
    :: is_host && woken != NOBODY && !PARKS_NEXT(which) -> pass_on(woken); woken = NOBODY
    :: else
    fi;
    if
    :: WAITS(which, value[which] + 1) -> wait_or_park(which, value[which] + 1)
    :: which == B && value[which] == 1 -> host_went_on
    :: else
    fi;
    if
    :: !over -> advance(which, is_host)
    :: else
    fi
  od;
  over = false
}

active [2] proctype worker() {
  byte mine, woken = NOBODY;
  bool over;
end:
  do
  :: atomic {
      if
      :: ready[A] -> mine = A
      :: ready[B] -> mine = B
      :: ready[C] -> mine = C
      fi;
      run_slice(mine)
    }
    run_stream(mine, NO_LIMIT, false);
    mine = 0
  od
}

inline read_hint(which) {
#ifdef TORN_HINT
  next = waiting_on[which];
  next_target = waiting_target[which]
#else
  d_step { next = waiting_on[which]; next_target = waiting_target[which] }
#endif
}

/* `which` waits for the next link of the chain, or begins anew with A. */
inline follow_hint() {
#ifdef LOOKS_BEFORE
  complete = value[which] >= target;
#endif
  read_hint(which);
#ifndef LOOKS_BEFORE
  complete = value[which] >= target;
#endif
  if
  :: !complete && next != NOBODY -> which = next; target = next_target
  :: else -> which = A; target = goal
  fi;
  d_step { complete = false; next = 0; next_target = 0 }
}

/* A slice of `which`, which the host owns; then one of the stream that this one woke, if this one waits for it. */
inline help_run() {
  do
  :: true ->
    run_stream(which, target, true);
    if
    :: woken == NOBODY -> break
    :: else
    fi;
    read_hint(which);
#ifdef WOKEN_UNCHECKED
    complete = false;
#else
    complete = value[which] >= target;
#endif
    which = woken;
    woken = NOBODY;
    if
    :: complete || next != which -> pass_on(which); break
    :: else -> target = next_target
    fi
  od;
  which = A;
  target = goal;
  d_step { complete = false; next = 0; next_target = 0 }
}

active proctype host() {
  byte which = A, target, next, next_target, woken = NOBODY;
  bool over, complete;
  goal = 3;
  if
  :: true
  :: goal = 5
  fi;
  target = goal;
  do
  :: which == A && value[A] >= goal -> break
  :: which != A && value[which] >= target -> which = A; target = goal
  :: value[which] < target ->
    if
    :: atomic { ready[which] -> run_slice(which) }
      help_run()
    :: !ready[which] -> follow_hint()
    :: value[A] >= goal -> which = A; target = goal /* it slept until then */
    fi
  od;
  host_went_on = true
}

active proctype judge() {
  value[A] == LENGTH(A) && value[B] == LENGTH(B) && value[C] == LENGTH(C);
  owners[A] + owners[B] + owners[C] == 0;
  assert(!ready[A] && !ready[B] && !ready[C])
}
