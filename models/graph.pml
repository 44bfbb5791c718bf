/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph's launch: the owner claims one chain after the other, two workers take the invitation, leave the owner alone or close
 * the claims, and then all run what is ready; one chain may be a host function. The stream's next command is a launch of the
 * same graph.
 *
 * code:     backends/cpu_sim/graph_run.cpp (begin, run_alone, finish_alone, join, share, work, settle, leave, call_host)
 * abstract: being in the scheduler's queue is a flag; whether joining is worth it, and when a thread gives way, is left open; the
 *           chains are 0 and 1, 2 after 0, and 3 after 1 and 2; ranges of a spread step are left out (spread.pml has the like),
 *           and so is sharing the host thread's calls
 * checked:  each chain runs once at each launch, after those that it comes after and before its command is complete; nobody
 *           touches a launch that is complete; both launches are completed
 *
 * check: safety
 * fault: GOES_ON assertion           the owner runs what it claimed from claims that were closed
 * fault: CURRENT_DONE assertion      who closes the claims takes the chain in the owner's hand for done
 * fault: NOT_COUNTED assertion       the invitation isn't counted while it is out
 * fault: OUTSIDE_UNCOUNTED assertion  a host function under way isn't counted
 * fault: LEAVES end state            a thread gives way without an invitation for others
 * fault: ALONE_UNCHECKED end state   the owner that has run everything doesn't look whether the claims were closed meanwhile
 */
#define N 4
#define LAUNCHES 2
#define NONE 255

byte value;          /* complete launches */
bool outside;        /* chain 1 is a host function */
bool locked;
byte claims;         /* may be N + 1 */
bool closed;
bool queued;         /* the invitation is in the queue */
bool shared;
bool invited;
byte parties;
byte missing[N];
bool ready[N];
bool started;        /* the host function is posted */
bool ran[N * LAUNCHES];
bool ended[N * LAUNCHES];
bool launch_left;    /* the host thread passes the turn on */

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
  :: s == 1 && outside ->
    started = true;
#ifndef OUTSIDE_UNCOUNTED
    parties++
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

/* `c` chains were claimed. All but the last of them are done; that one may be in the hand of the owner. */
#ifdef CURRENT_DONE
#define IS_DONE(s) (s < c)
#else
#define IS_DONE(s) (s + 1 < c)
#endif
inline share() {
  d_step {
    shared = true;
    missing[2] = (IS_DONE(0) -> 0 : 1);
    missing[3] = (IS_DONE(1) -> 0 : 1) + (IS_DONE(2) -> 0 : 1);
    if
    :: c <= 1 -> make_ready(1)
    :: else
    fi;
    if
    :: c <= 2 && missing[2] == 0 -> make_ready(2)
    :: else
    fi;
    if
    :: c <= 3 && missing[3] == 0 -> make_ready(3)
    :: else
    fi
  }
}

inline take() {
  if
  :: ready[0] -> ready[0] = false; hand = 0
  :: else ->
    if
    :: ready[1] -> ready[1] = false; hand = 1
    :: else ->
      if
      :: ready[2] -> ready[2] = false; hand = 2
      :: else ->
        if
        :: ready[3] -> ready[3] = false; hand = 3
        :: else
        fi
      fi
    fi
  fi
}

#define OTHERS (ready[0] || ready[1] || ready[2] || ready[3])

inline invite() {
  if
  :: !invited ->
    invited = true;
    asks = true;
#ifndef NOT_COUNTED
    parties++
#endif
  :: else
  fi
}

/* Leaves whether this was the last party in `last`. */
inline leave() {
  if
  :: invited && !OTHERS && queued ->
    queued = false;
    invited = false;
#ifndef NOT_COUNTED
    parties--
#endif
  :: else
  fi;
  assert(parties > 0 && value == number);
  parties--;
  last = parties == 0
}

/* As one party, with `hand` in hand, which is `done`, or not begun. */
inline work() {
  do
  :: true ->
    lock();
    atomic {
      assert(value == number);
      if
      :: !shared -> closed = true; c = claims; share()
      :: else
      fi;
      if
      :: hand == NONE
      :: hand != NONE && done -> complete(hand); hand = NONE
      :: hand != NONE && !done && hand == 1 && outside -> make_ready(1); hand = NONE
      :: hand != NONE && !done && !(hand == 1 && outside) -> /* it gives way */
        ready[hand] = true;
        hand = NONE;
        gives_way = true;
#ifndef LEAVES
        invite()
#endif
      fi;
      if
      :: !gives_way -> take()
      :: else
      fi;
      if
      :: OTHERS && !gives_way -> invite()
      :: else
      fi;
      if
      :: hand == NONE -> leave()
      :: else
      fi;
      unlock()
    }
    if
    :: asks -> asks = false; queued = true
    :: else
    fi;
    if
    :: hand == NONE -> break
    :: hand != NONE ->
      if
      :: true -> start_chain(hand); end_chain(hand); done = true
      :: true -> done = false
      fi
    fi
  od;
  atomic { hand = NONE; done = false; gives_way = false; c = 0 }
}

/* By who has the stream's turn. */
inline begin() {
  d_step {
    shared = false;
    closed = false;
    claims = 1;
    invited = true;
#ifdef NOT_COUNTED
    parties = 1
#else
    parties = 2
#endif
  }
  queued = true;
  own = 0;
  do
  :: own == 1 && outside -> hand = 1; done = false; work(); break
  :: !(own == 1 && outside) ->
    start_chain(own);
    end_chain(own);
    atomic { next = claims; was_closed = closed; claims = (claims <= N -> claims + 1 : claims) }
#ifdef GOES_ON
    was_closed = false;
#endif
    if
    :: was_closed -> hand = own; done = true; work(); break
    :: else ->
      if
      :: next < N -> own = next
      :: else -> finish_alone(); break
      fi
    fi
  od;
  atomic { own = 0; next = 0; was_closed = false }
}

inline finish_alone() {
  lock();
  atomic {
    if
#ifndef ALONE_UNCHECKED
    :: shared -> leave()
    :: !shared && queued ->
#else
    :: queued ->
#endif
      queued = false;
      invited = false;
      parties = 0;
      last = true
    :: else -> parties = 1
    fi;
    unlock()
  }
}

inline complete_command() {
  d_step {
    assert(value == number && ended[AT(0)] && ended[AT(1)] && ended[AT(2)] && ended[AT(3)]);
    value++;
    last = false
  }
}

/* The launches that are left, as long as this thread keeps the turn. */
inline take_turn() {
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

/* By who has taken the invitation. */
inline join() {
  number = value;
  lock();
  if
  :: !shared && parties == 1 -> last = true; parties = 0; invited = false; unlock()
  :: !shared && parties != 1 ->
    if
    :: true -> queued = true; unlock() /* refused */
    :: claims < N ->
      atomic { closed = true; c = claims }
      atomic { share(); invited = false; unlock() }
      work()
    fi
  :: shared -> atomic { invited = false; unlock() } work()
  fi;
  if
  :: last -> complete_command(); take_turn()
  :: else
  fi
}

proctype worker() {
  byte number, own, next, c, hand = NONE;
  bool last, asks, gives_way, done, was_closed;
end:
  do
  :: atomic { queued -> queued = false }
    join()
  od
}

proctype first() {
  byte number, own, next, c, hand = NONE;
  bool last, asks, gives_way, done, was_closed;
  take_turn()
}

proctype host_thread() {
  byte number;
  bool last, asks;
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
      :: OTHERS -> invite()
      :: else
      fi;
      leave();
      unlock()
    }
    if
    :: asks -> asks = false; queued = true
    :: else
    fi;
    if
    :: last -> complete_command(); launch_left = value < LAUNCHES
    :: else
    fi
  od
}

proctype judge() {
  value == LAUNCHES;
  assert(!queued && !started)
}


proctype next_turn() {
  byte number, own, next, c, hand = NONE;
  bool last, asks, gives_way, done, was_closed;
end:
  do
  :: atomic { launch_left -> launch_left = false }
    take_turn()
  od
}

init {
  atomic {
    if
    :: outside = true
    :: outside = false
    fi;
    run first();
    run worker();
    run worker();
    run host_thread();
    run next_turn();
    run judge()
  }
}
