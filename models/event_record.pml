/* SPDX-License-Identifier: Apache-2.0
 *
 * A cell with the place that an event recorded last, or that a stream waits for: a sequence lock. Two threads write, one after
 * the other, and two read and ask whether what they read is complete.
 *
 * code:     backends/cpu_sim/record.h (RecordCell), event.cpp (record)
 * abstract: a stream's timeline is a value that rises once, from 0 to 1; versions don't wrap; in the code the loads that make the
 *           copy are acquires and the stores releases, so that they stay between the two of the version
 * checked:  the answer is of a record that was the most recent one at some moment of the query: "complete" if it is complete when
 *           the answer is given, "not complete" if it was not complete at that moment
 *
 * check: safety
 * fault: NO_SECOND_READ assertion    the reader doesn't compare the version afterwards
 * fault: NO_ODD_VERSION assertion    the writer doesn't raise the version before it writes
 * fault: NO_WRITERS_LOCK assertion   the writers don't exclude each other
 */
#define NEVER 2 /* a target that is not reached */

bool locked;
byte version, timeline, target;
byte value[2];

/* For the assertions: the records, which of them is the most recent one, and which were during each query, pending or not. */
#define RECORDS 3
#define TIMELINE_OF(which) (which == 1)
#define TARGET_OF(which) (which == 2 -> NEVER : 1)
#define IS_COMPLETE(which) (value[TIMELINE_OF(which)] >= TARGET_OF(which))

byte last;
bool was_last[2 * RECORDS];
bool was_pending[2];

inline note_last(me) {
  was_last[RECORDS * me + last] = true;
  was_pending[me] = was_pending[me] || !IS_COMPLETE(last)
}

proctype advance(byte of_stream) {
  value[of_stream] = 1
}

proctype record(byte which) {
  byte before;
#ifndef NO_WRITERS_LOCK
  atomic { !locked; locked = true }
#endif
  before = version;
#ifdef NO_ODD_VERSION
#else
  version = before + 1;
#endif
  timeline = TIMELINE_OF(which);
  target = TARGET_OF(which);
  d_step {
    version = before + 2;
    last = which;
    note_last(0);
    note_last(1)
  }
  locked = false
}

proctype query(byte me) {
  byte seen, copied_timeline, copied_target;
  bool complete;
  d_step {
    was_last[RECORDS * me] = false;
    was_last[RECORDS * me + 1] = false;
    was_last[RECORDS * me + 2] = false;
    was_pending[me] = false;
    note_last(me)
  }
again:
  seen = version;
  copied_timeline = timeline;
  copied_target = target;
  if
#ifdef NO_SECOND_READ
  :: seen & 1 -> goto again
#else
  :: seen & 1 || version != seen -> goto again
#endif
  :: else
  fi;
  complete = value[copied_timeline] >= copied_target;
  assert(!complete || (was_last[RECORDS * me] && IS_COMPLETE(0)) || (was_last[RECORDS * me + 1] && IS_COMPLETE(1)) ||
         (was_last[RECORDS * me + 2] && IS_COMPLETE(2)));
  assert(complete || was_pending[me])
}

/* Record 0 was made before. */
init {
  atomic {
    timeline = TIMELINE_OF(0);
    target = TARGET_OF(0);
    run advance(0);
    run record(1);
    run record(2);
    run query(0);
    run query(1)
  }
}
