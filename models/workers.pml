/* SPDX-License-Identifier: Apache-2.0
 *
 * Two workers, one of them the reserve, that look at the queue, sleep, and are called; two kernels that wait for each other; and,
 * or not, a host thread that submits and runs its own tasks for ever and two streams that wake each other for ever.
 *
 * code:     backends/cpu_sim/scheduler.h, scheduler.cpp (ready, choose_worker, take, claim, done, work, poll, wait_for_task),
 *           ready_queue.h (pop)
 * abstract: what is done under the scheduler's lock is one step; time is not modelled: a look comes at any time, a worker rests or
 *           not, and may find at any look that nothing was pushed for long if nothing was since its last one; "changed since my
 *           last look" is a flag for each worker in place of a counter
 * checked:  both kernels begin, under weak fairness, whatever the others do: no call is lost, a worker stuck in a kernel holds up
 *           nobody but its stream, and what is ready is not passed over for ever
 *
 * check: progress
 * fault: COUNTS_ITSELF cycle       a worker that takes a task is still counted as polling when it chooses a worker for the next one
 * fault: SLEEPS_BLINDLY cycle      a worker goes to sleep without looking at the queue under the lock
 * fault: NO_PATIENCE cycle         a worker leaves what is ready to others for as long as any of them claims something
 * fault: FORGETS cycle             a worker that tries to take a task, because there are two, doesn't remember which one waited
 * fault: GOES_BY_THE_NEXT cycle    a worker waits until what it would take is the same at two looks, instead of what waits longest
 * fault: HOSTS_FIRST cycle         hosts claim, and so keep as many threads running as may, while a worker waits for room
 * fault: NO_TURNS cycle            what was woken by a timeline always goes first
 */
#define LIMIT 2
#define EAGER 0
#define RESERVE 1
#define IN_A_ROW 1

/* Tasks. */
#define NOTHING 0
#define KERNEL_1 1 /* ends when KERNEL_2 has begun */
#define KERNEL_2 2 /* ends when KERNEL_1 has begun */
#define HELPED 3   /* of the host that helps itself */
#define PING 4     /* wakes itself, by way of a timeline */
#define FIRST 5    /* so that there are workers when the others come */

chan woken = [2] of { byte };     /* by a timeline: first */
chan submitted = [4] of { byte };
chan pushes = [5] of { byte };    /* all that is ready, in the order in which it was readied */
byte in_a_row;                    /* how many of `woken` were taken while others waited */

byte running;                     /* threads with a task */
byte polling[2];                  /* workers of each kind that poll, or are about to */
bool started[2], asleep[2], unparked[2];
bool starving;                    /* a worker couldn't take what is ready: hosts claim nothing until one can */
bool pushed[2];                   /* something was, since that worker looked last */
byte oldest, before;              /* the task that waits longest */
bool same[2];                     /* it was that when this worker looked last, and ever since */

bool begun[6];
bool helped;

#define READY (len(woken) + len(submitted))
#define ROOM (running < LIMIT)

/* What a worker would take. */
#ifdef NO_TURNS
#define WOKEN_FIRST (len(woken) > 0)
#else
#define WOKEN_FIRST (len(woken) > 0 && (len(submitted) == 0 || in_a_row < IN_A_ROW))
#endif

/* Notes whether the oldest task is another one now than before; `taken` is the one that was taken, if any. */
inline note_oldest(taken) {
  before = oldest;
  if
  :: taken != NOTHING -> pushes??eval(taken)
  :: else
  fi;
  if
  :: READY == 0 -> oldest = NOTHING
#ifdef GOES_BY_THE_NEXT
  :: READY > 0 && WOKEN_FIRST -> woken?<oldest>
  :: READY > 0 && !WOKEN_FIRST -> submitted?<oldest>
#else
  :: READY > 0 -> pushes?<oldest>
#endif
  fi;
  if
  :: oldest != before || taken == before -> same[EAGER] = false; same[RESERVE] = false
  :: else
  fi;
  before = NOTHING
}

inline wake_one(who) {
  polling[who]++;
  if
  :: started[who] -> asleep[who] = false; unparked[who] = true
  :: else -> started[who] = true
  fi
}

inline choose_worker() {
  if
  :: running >= LIMIT || polling[EAGER] > 0
  :: ROOM && polling[EAGER] == 0 && (asleep[EAGER] || !started[EAGER]) -> wake_one(EAGER)
  :: ROOM && polling[EAGER] == 0 && !asleep[EAGER] && started[EAGER] ->
    if
    :: polling[RESERVE] == 0 && (asleep[RESERVE] || !started[RESERVE]) -> wake_one(RESERVE)
    :: else
    fi
  fi
}

inline enqueue(queue, what) {
  atomic {
    queue!what;
    pushes!what;
    note_oldest(NOTHING);
    pushed[EAGER] = true;
    pushed[RESERVE] = true;
    choose_worker()
  }
}

/* Under the lock. */
inline take() {
  if
  :: ROOM && READY > 0 ->
    if
    :: WOKEN_FIRST -> woken?task; in_a_row = (in_a_row < IN_A_ROW -> in_a_row + 1 : in_a_row)
    :: else -> submitted?task; in_a_row = 0
    fi;
    note_oldest(task)
  :: else -> task = NOTHING
  fi;
  if
  :: task != NOTHING ->
    running++;
    starving = false;
    same[me] = false;
    if
    :: READY > 0 -> choose_worker()
    :: else
    fi
  :: else
  fi
}

inline execute() {
  begun[task] = true;
  if
  :: task == KERNEL_1 -> begun[KERNEL_2]
  :: task == KERNEL_2 -> begun[KERNEL_1]
  :: task == HELPED -> helped = true
  :: task == PING -> enqueue(woken, PING)
  :: task == FIRST
  fi
}

/* Until it is worth a try to take something, or it was quiet for long. */
inline look() {
  pushed[me] = true;
  do
  :: atomic {
      if
#ifndef NO_PATIENCE
      :: oldest != NOTHING && same[me] -> waited = true; break
#else
      :: oldest != NOTHING && same[me] && ROOM -> break
#endif
      :: !same[me] && me == EAGER && ROOM && READY >= 2 ->
#ifndef FORGETS
        same[me] = true;
#endif
        break
      :: !same[me] && !pushed[me] && oldest == NOTHING -> quiet = true; break
      :: else
      fi;
      same[me] = oldest != NOTHING;
      pushed[me] = false
    }
  od
}

/* Leaves a task, or none after it slept. */
inline wait_for_task() {
  look();
  atomic {
#ifdef COUNTS_ITSELF
    if
    :: !quiet -> take()
    :: else
    fi;
    polling[me]--;
#else
    polling[me]--;
    if
    :: !quiet -> take()
    :: else
    fi;
#endif
    if
    :: task == NOTHING ->
#ifndef HOSTS_FIRST
      starving = starving || (waited && READY > 0);
#endif
#ifdef SLEEPS_BLINDLY
      asleep[me] = quiet;
#else
      asleep[me] = (quiet && (READY == 0 || !ROOM)) || (waited && READY > 0 && !ROOM && me == RESERVE);
#endif
      if
      :: !asleep[me] -> polling[me]++
      :: else
      fi
    :: else
    fi;
    waited = false;
    quiet = false
  }
  if
  :: task == NOTHING && (asleep[me] || unparked[me]) ->
end_asleep:
    atomic { unparked[me]; unparked[me] = false }
  :: else
  fi
}

proctype worker(byte me) {
  byte task;
  bool quiet, waited;
end_before:
  started[me];
  do
  :: task == NOTHING -> wait_for_task()
  :: task != NOTHING ->
    execute();
    atomic {
      running--;
      task = NOTHING;
      if
      :: true -> take()
      :: true -> /* it rests before it looks */
        if
        :: READY > 0 -> choose_worker()
        :: else
        fi
      fi;
      if
      :: task == NOTHING -> polling[me]++
      :: else
      fi
    }
  od
}

proctype host() {
  enqueue(submitted, FIRST);
  enqueue(submitted, KERNEL_1);
  enqueue(submitted, KERNEL_2)
}

/* The other way round: what it helps itself to was submitted, or was woken by a timeline. */
#define HELP(queue)                                                                                       \
  do                                                                                                      \
  :: true ->                                                                                              \
    helped = false;                                                                                       \
    enqueue(queue, HELPED);                                                                               \
    if                                                                                                    \
    :: atomic { ROOM && !starving && queue??[HELPED] -> queue??HELPED; note_oldest(HELPED); running++ }     \
      atomic {                                                                                            \
        running--;                                                                                        \
        if                                                                                                \
        :: READY > 0 -> choose_worker()                                                                   \
        :: else                                                                                           \
        fi                                                                                                \
      }                                                                                                   \
    :: helped                                                                                             \
    fi                                                                                                    \
  od

proctype host_that_helps() {
  if
  :: true -> HELP(submitted)
  :: true -> HELP(woken)
  fi
}

proctype host_of_two_streams() {
  enqueue(woken, PING)
}

/* Where somebody always pushes, a call that was lost is made up for; so also without the others. */
init {
  atomic {
    run worker(EAGER);
    run worker(RESERVE);
    run host();
    if
    :: true
    :: true -> run host_that_helps()
    :: true -> run host_that_helps(); run host_of_two_streams()
    fi
  }
}

ltl both_begin { <> (begun[KERNEL_1] && begun[KERNEL_2]) }
