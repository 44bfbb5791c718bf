/* SPDX-License-Identifier: Apache-2.0
 *
 * Hazard pointers: two threads make calls, with one handle and with two, and a third thread closes one of the handles and releases
 * its object.
 *
 * code:     core/handles/hazard_pointer.h (publish, clear), hazard_pointer.cpp (join_fast_path, others_may_use),
 *           deferred_release.cpp (used_of, release_or_ask_again), use.h (Publication), slots.h (close);
 *           core/runtime/asymmetric_fence.h
 * abstract: two handles of which one is closed; its object is a flag that says it exists; the list of all threads' hazard
 *           pointers is an array
 * checked:  on x86-TSO no object is used after its release, and the object is released in the end
 *
 * check: safety
 * fault: NO_MEMBARRIER assertion     the closer reads the hazard pointers without a fence
 * fault: BARRIER_FIRST assertion     the closer makes the fence before it changes `plain`
 * fault: BACK_EARLY assertion        a call clears its hazard pointer before its last use of the object
 * fault: JOINS_PLAINLY assertion     a thread takes its hazard pointers by a plain store
 * fault: SECOND_LOOK_ONLY assertion  the closer doesn't read `first`
 */
#define CPUS 3
#define VARIABLES 7
#include "tso.inc"

#define PLAIN 0 /* of the handle that is closed: OPEN or not */
#define FIRST(user) (1 + user)
#define SECOND(user) (3 + user)
#define TAKEN(user) (5 + user) /* whether the thread has its hazard pointers */

#define OPEN 1
#define CLOSED 0
#define THE_HANDLE 1
#define ANOTHER 2

bool object = true;

/* One call with `handles` handles; of two, the one that is closed is `first`. */
inline call(handles) {
  if
  :: handles == 1 -> store(SECOND(cpu), THE_HANDLE)
  :: else ->
    store(FIRST(cpu), THE_HANDLE);
    store(SECOND(cpu), ANOTHER)
  fi;
  load(PLAIN, plain);
  if
  :: plain == OPEN ->
    assert(object);
#ifdef BACK_EARLY
    store(SECOND(cpu), 0);
#endif
    assert(object) /* until here it is in use */
  :: else
  fi;
  store(SECOND(cpu), 0)
}

proctype user(byte cpu) {
  byte plain, handles, calls;
#ifdef JOINS_PLAINLY
  store(TAKEN(cpu), true);
#else
  exchange(TAKEN(cpu), true);
#endif
  do
  :: calls < 2 ->
    select(handles : 1 .. 2);
    call(handles);
    calls++
  :: else -> break
  od;
  store(TAKEN(cpu), false)
}

inline fence_if_taken() {
  load(TAKEN(0), second);
  load(TAKEN(1), first);
  if
  :: second || first -> membarrier()
  :: else
  fi
}

proctype closer() {
  byte cpu = 2, who, second, first;
  bool used;
#ifdef BARRIER_FIRST
  fence_if_taken();
#endif
  exchange(PLAIN, CLOSED);
#if !defined(NO_MEMBARRIER) && !defined(BARRIER_FIRST)
  fence_if_taken();
#endif
  do
  :: true ->
    who = 0;
    used = false;
    do
    :: who < 2 ->
      load(SECOND(who), second);
      if
      :: second == 0
      :: else ->
        load(FIRST(who), first);
#ifdef SECOND_LOOK_ONLY
        first = 0;
#endif
        if
        :: second == THE_HANDLE || first == THE_HANDLE -> used = true
        :: else
        fi
      fi;
      who++
    :: else -> break
    od;
    if
    :: used
    :: else -> break
    fi
  od;
  object = false
}

init {
  memory[PLAIN] = OPEN;
  atomic { run user(0); run user(1); run closer() }
}
