/* SPDX-License-Identifier: Apache-2.0
 *
 * The sorted array of HostBuffers' ranges, which changes while copies look for theirs in it without a lock.
 *
 * code:     core/memory/host_ranges.cpp (look_up, add, remove)
 * abstract: a range is one number, its first address; the search goes from the first to the last; changes are one thread's, since they
 *           have a lock; each step is seen in its order, which the fences at both ends of a change and of a look see to
 * checked:  who looks for a range that is there throughout finds it, with the stream that was noted for it; who looks for another
 *           address finds nothing
 *
 * check: safety
 * fault: NO_SECOND_LOOK assertion    who looks doesn't compare the version afterwards
 * fault: NO_FIRST_LOOK assertion     ... or begins in the middle of a change
 * fault: NO_BEGINNING assertion      the version doesn't say that a change begins
 */
#define STAYS 4
#define OTHER 2
#define NOWHERE 3
#define STREAM 7 /* noted for STAYS */

byte begins[3], streams[3], count, version;

init {
  begins[0] = STAYS;
  streams[0] = STREAM;
  count = 1;
  run owner();
  run looker(STAYS);
  run looker(NOWHERE)
}

inline begin_change() {
#ifndef NO_BEGINNING
  version++
#else
  skip
#endif
}
inline end_change() {
#ifndef NO_BEGINNING
  version++
#else
  version = version + 2
#endif
}

proctype owner() {
  byte round = 0;
  do
  :: round < 2 ->
     begin_change(); /* OTHER comes before STAYS */
     begins[1] = begins[0];
     streams[1] = streams[0];
     begins[0] = OTHER;
     streams[0] = 0;
     count = 2;
     end_change();
     begin_change(); /* and goes again */
     begins[0] = begins[1];
     streams[0] = streams[1];
     count = 1;
     end_change();
     round++
  :: else -> break
  od
}

proctype looker(byte address) {
  byte before, number, i, noted;
  bool found;
again:
  before = version;
#ifndef NO_FIRST_LOOK
  if
  :: before % 2 != 0 -> goto again
  :: else
  fi;
#endif
  number = count;
  found = false;
  i = 0;
  do
  :: i < number && !found ->
     if
     :: begins[i] == address -> found = true
     :: else -> i++
     fi
  :: else -> break
  od;
  noted = 0;
  if
  :: found -> noted = streams[i]
  :: else
  fi;
#ifndef NO_SECOND_LOOK
  if
  :: version != before -> goto again
  :: else
  fi;
#endif
  if
  :: address == STAYS -> assert(found && noted == STREAM)
  :: else -> assert(!found)
  fi
}
