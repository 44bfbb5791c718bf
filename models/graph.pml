/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph's launch: the owner runs ready chains, two workers take the job from the ready queue, put it back or run ready chains
 * too; one chain may be a host function. The stream's next command is a launch of the same graph.
 *
 * code:     backends/cpu_sim/graph_run.cpp (begin, join, work, settle, leave, call_host_function)
 * abstract: being in the scheduler's queue is a flag; whether joining is worth it, and when a thread yields, is left open; the
 *           chains are 0 and 1, 2 after 0, and 3 after 1 and 2; ranges of a spread step are left out (spread.pml has the like),
 *           and so is sharing the host thread's calls
 * checked:  each chain runs once at each launch, after those that it comes after and before its command is complete; nobody
 *           touches a launch that is complete; both launches are completed
 *
 * check: safety
 * fault: NOT_COUNTED assertion         the job isn't counted as a user while it is in the queue
 * fault: HOST_UNCOUNTED assertion      a host function under way isn't counted
 * fault: LEAVES end state              a thread yields without the job in the queue for others
 */
#define N 4
#define LAUNCHES 2
#define NONE 255

byte value;          /* complete launches */
bool by_host;        /* chain 1 is a host function */
bool locked;
bool queued;         /* the job is in the ready queue */
bool enqueued;       /* it is there, or about to be */
byte users;
byte missing[N];
bool ready[N];
bool started;        /* the host function is posted */
bool ran[N * LAUNCHES];
bool ended[N * LAUNCHES];

#define AT(s) (N * number + (s))

inline lock() { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline start_chain(s) {
  d_step {
    assert(value == number && !ran[AT(s)]);
    assert(s != 2 || ended[AT(0)]);
    assert(s != 3 || (ended[AT(1)] && ended[AT(2)]));
    ran[AT(s)] = true
  }
}
inline end_chain(s) { ended[AT(s)] = true }

inline make_ready(s) {
  if
  :: s == 1 && by_host ->
    started = true;
#ifndef HOST_UNCOUNTED
    users++
#endif
  :: else -> ready[s] = true
  fi
}

inline complete(s) {
  if
  :: s == 0 ->
    missing[2]--;
    if
    :: missing[2] == 0 -> make_ready(2)
    :: else
    fi
  :: s == 1 || s == 2 ->
    missing[3]--;
    if
    :: missing[3] == 0 -> make_ready(3)
    :: else
    fi
  :: else
  fi
}

inline take() {
  if
  :: ready[0] -> ready[0] = false; item = 0
  :: else ->
    if
    :: ready[1] -> ready[1] = false; item = 1
    :: else ->
      if
      :: ready[2] -> ready[2] = false; item = 2
      :: else ->
        if
        :: ready[3] -> ready[3] = false; item = 3
        :: else
        fi
      fi
    fi
  fi
}

#define OTHERS (ready[0] || ready[1] || ready[2] || ready[3])

inline enqueue_job() {
  if
  :: !enqueued ->
    enqueued = true;
    enqueues = true;
#ifndef NOT_COUNTED
    users++
#endif
  :: else
  fi
}

/* Leaves whether this was the last user in `last`. */
inline leave() {
  if
  :: enqueued && !OTHERS && queued ->
    queued = false;
    enqueued = false;
#ifndef NOT_COUNTED
    users--
#endif
  :: else
  fi;
  assert(users > 0 && value == number);
  users--;
  last = users == 0
}

/* As one user. */
inline work() {
  do
  :: true ->
    lock();
    atomic {
      assert(value == number);
      if
      :: item == NONE
      :: item != NONE && done -> complete(item); item = NONE
      :: item != NONE && !done ->
        ready[item] = true;
        item = NONE;
        yields = true;
#ifndef LEAVES
        enqueue_job()
#endif
      fi;
      if
      :: !yields -> take()
      :: else
      fi;
      if
      :: OTHERS && !yields -> enqueue_job()
      :: else
      fi;
      if
      :: item == NONE -> leave()
      :: else
      fi;
      unlock()
    }
    if
    :: enqueues -> enqueues = false; queued = true
    :: else
    fi;
    if
    :: item == NONE -> break
    :: item != NONE ->
      if
      :: true -> start_chain(item); end_chain(item); done = true
      :: true -> done = false
      fi
    fi
  od;
  atomic { item = NONE; done = false; yields = false }
}

/* By the thread that executes the stream. */
inline begin() {
  lock();
  d_step {
    users = 1;
    enqueued = false;
    missing[2] = 1;
    missing[3] = 2;
    make_ready(0);
    make_ready(1);
    unlock()
  }
  work()
}

inline complete_command() {
  d_step {
    assert(value == number && ended[AT(0)] && ended[AT(1)] && ended[AT(2)] && ended[AT(3)]);
    value++;
    last = false
  }
}

/* The launches that are left, as long as this thread executes the stream. */
inline execute() {
  do
  :: value < LAUNCHES ->
    number = value;
    begin();
    if
    :: last -> complete_command()
    :: else -> break
    fi
  :: else -> break
  od
}

/* By a worker that has taken the job from the queue. */
inline join() {
  number = value;
  lock();
  if
  :: users > 1 -> atomic { queued = true; unlock() } /* it is refused */
  :: true ->
    atomic { enqueued = false; unlock() }
    work()
  fi;
  if
  :: last -> complete_command(); execute()
  :: else
  fi
}

proctype worker() {
  byte number, item = NONE;
  bool last, enqueues, yields, done;
end:
  do
  :: atomic { queued -> queued = false }
    join()
  od
}

proctype first() {
  byte number, item = NONE;
  bool last, enqueues, yields, done;
  execute()
}

proctype host_thread() {
  byte number;
  bool last, enqueues;
end:
  do
  :: atomic { started -> started = false; number = value }
    start_chain(1);
    end_chain(1);
    lock();
    atomic {
      assert(value == number);
      complete(1);
      if
      :: OTHERS -> enqueue_job()
      :: else
      fi;
      leave();
      unlock()
    }
    if
    :: enqueues -> enqueues = false; queued = true
    :: else
    fi;
    assert(!last) /* chain 3 comes after it */
  od
}

proctype judge() {
  value == LAUNCHES;
  assert(!queued && !started)
}

init {
  atomic {
    if
    :: by_host = true
    :: by_host = false
    fi;
    run first();
    run worker();
    run worker();
    run host_thread();
    run judge()
  }
}
