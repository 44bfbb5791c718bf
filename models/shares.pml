/* SPDX-License-Identifier: Apache-2.0
 *
 * What one process shares and others open. The exporter shares a thing in each of two entries of its table; it frees the first,
 * shares another in the same entry, and frees them all. The importers join the table, open what they have a handle of, use it, let
 * it go and leave. Any process is killed at any point. There is one member's number for the importers: one that left, or died, has
 * its number given to another.
 *
 * code:     core/ipc/share_table.cpp (Share::close, ~Share, clear_the_dead, GuestTable::hold, let_go), SharedArena::join and reclaim
 *           (include/anyplace/backend/kit/shared_arena.h)
 * abstract: a process opens one thing, once (the counts within a process are under a lock); a handle is an entry and the
 *           generation; the exporter looks again when something has changed; what the system does for a process that ended
 *           (its mappings go, the others' stay) is left out
 * checked:  nothing is released while a process uses it, nobody opens what was released, and the exporter that lives on
 *           has released everything when the others have ended, however they did
 *
 * check: safety
 * fault: LOOKS_FIRST assertion       who opens looks whether the thing is shared before it says that it has it
 * fault: CLOSES_LATE assertion       who frees looks for holders before it says that the thing isn't shared any more
 * fault: TAKES_THE_LIVING assertion  the bits of processes that live are cleared, too
 * fault: LEFT_MEANWHILE assertion    the number isn't looked at again when its process is known to have ended
 * fault: NUMBER_FIRST assertion      a dead process's number is given away before its bits are cleared
 * fault: SAME_GENERATION assertion   what is shared next has the handle of what was freed
 * fault: DEAD_KEPT end state         the bits of processes that ended stay
 * fault: BIT_KEPT end state          who is refused leaves its bit
 */
#define IMPORTERS 3
#define NOBODY 255

byte identity = NOBODY;      /* of the member with the number */
bool held[2];                /* its bit in each entry */
bool shared[2] = true;       /* with the generation, one word in each entry */
byte generation;             /* of the first entry; the second one's stays 0 */
bool exporter_ended;
bool ended[IMPORTERS];       /* a process: killed, or by itself */
bool uses[IMPORTERS];
byte opened[IMPORTERS];      /* which thing: 0 and then 2 in the first entry, 1 in the second */
bool released[3];

#define USED(t) ((uses[0] && opened[0] == t) || (uses[1] && opened[1] == t) || (uses[2] && opened[2] == t))

inline may_die() {
  if
  :: true
  :: goto killed
  fi
}

/* SharedArena::reclaim, for the one number. */
inline reclaim() {
  found = identity;
  if
#ifdef TAKES_THE_LIVING
  :: found != NOBODY ->
#else
  :: found != NOBODY && ended[found] ->
#endif
    /* It may have left before it ended, and another have its number. */
    if
#ifdef LEFT_MEANWHILE
    :: true ->
#else
    :: identity == found ->
#endif
#ifdef NUMBER_FIRST
      identity = NOBODY;
#endif
      held[0] = false;
      held[1] = false;
#ifndef NUMBER_FIRST
      identity = NOBODY
#endif
    :: else
    fi
  :: else
  fi
}

proctype exporter() {
  byte found, entry, thing;
  bool free;
free_one:
  may_die();
#ifdef CLOSES_LATE
  free = !held[entry];
  shared[entry] = false;
#else
  shared[entry] = false;
  free = !held[entry];
#endif
  do
  :: free -> break
  :: else ->
#ifdef DEAD_KEPT
    !held[entry];
#else
#if defined(TAKES_THE_LIVING) || defined(LEFT_MEANWHILE)
end_looks: /* what is never released is no news then: what is released too early is looked for */
#endif
    (!held[entry] || (identity != NOBODY && ended[identity]));
    may_die();
    reclaim();
#endif
    free = !held[entry]
  od;
  atomic {
    assert(!USED(thing));
    released[thing] = true
  }
  may_die();
  if
  :: thing == 0 ->
    atomic {
      thing = 2;
#ifndef SAME_GENERATION
      generation++;
#endif
      shared[0] = true
    }
    goto free_one
  :: thing == 2 -> thing = 1; entry = 1; goto free_one
  :: else
  fi;
killed:
  exporter_ended = true
}

#define IS_SHARED (shared[entry] && (entry == 1 || generation == handle))

proctype importer(byte me) {
  byte entry, handle;
  bool is_shared;
  /* It has a handle of the one or of the other; of what is shared later in the first entry, nobody has. */
  if
  :: entry = 0; opened[me] = 0
  :: entry = 1; opened[me] = 1
  fi;
  if
  :: atomic { identity == NOBODY -> identity = me }
  :: identity != NOBODY -> goto over /* full */
  :: exporter_ended -> goto over
  fi;
  may_die();
#ifdef LOOKS_FIRST
  is_shared = IS_SHARED;
  may_die();
  held[entry] = true;
#else
  held[entry] = true;
  may_die();
  is_shared = IS_SHARED;
#endif
  if
  :: is_shared ->
    atomic {
      assert(!released[opened[me]]);
      uses[me] = true
    }
    may_die();
    uses[me] = false;
    held[entry] = false
  :: else ->
#ifndef BIT_KEPT
    held[entry] = false
#endif
  fi;
  may_die();
  identity = NOBODY;
killed:
over:
  atomic { ended[me] = true; uses[me] = false }
}

init {
  atomic {
    run exporter();
    run importer(0);
    run importer(1);
    run importer(2)
  }
}
