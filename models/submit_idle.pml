/* SPDX-License-Identifier: Apache-2.0
 *
 * Submitting to a stream, and a stream that goes idle: two producers, a worker, and a host thread that synchronises and helps.
 *
 * code:     backends/cpu_sim/stream.h (push), stream.cpp (run_slice, go_idle, help)
 * abstract: one stream; a command is a flag that says it was written; being ready is a flag of the scheduler's
 * checked:  no command is lost, none runs twice or before it was written, one thread at a time owns the stream, the stream is ready
 *           at most once
 *
 * check: safety
 * fault: NO_SECOND_LOOK end state    the thread that makes the stream idle doesn't check again, under the lock, what was submitted
 * fault: COUNTED_FIRST assertion     a command is counted before it is written
 * fault: ACTIVE_UNLOCKED end state   active is read before the lock is taken
 */
#define EACH 2
#define ALL 4
#define NO_LIMIT 9

bit locked;
byte submitted, retired;
bool active_stream, ready;
bool written[ALL + 1], executed[ALL + 1];
byte turns, finished_producers; /* for the assertions */

inline lock() { atomic { locked == 0; locked = 1 } }
inline unlock() { locked = 0 }

inline enqueue() {
  atomic { assert(!ready); ready = true }
}

/* Leaves its number in `number`. */
inline submit() {
#ifdef ACTIVE_UNLOCKED
  was_active = active_stream;
  lock();
#else
  lock();
#endif
  number = submitted + 1;
#ifdef COUNTED_FIRST
  submitted = number;
  written[number] = true;
#else
  written[number] = true;
  submitted = number;
#endif
#ifndef ACTIVE_UNLOCKED
  was_active = active_stream;
#endif
  active_stream = true;
  unlock();
  if
  :: !was_active -> enqueue()
  :: else
  fi
}

/* By the owner, until `limit` commands are done. */
inline run_slice(limit) {
  seen = submitted;
  do
  :: retired < seen && retired < limit ->
    assert(written[retired + 1] && !executed[retired + 1]);
    executed[retired + 1] = true;
    retired++
  :: retired < seen && retired >= limit ->
    atomic { turns--; enqueue() }
    break
  :: retired == seen ->
#ifdef NO_SECOND_LOOK
    lock();
    d_step { active_stream = false; turns-- }
    unlock();
    break
#else
    lock();
    if
    :: submitted != retired ->
      unlock();
      seen = submitted
    :: else ->
      d_step { active_stream = false; turns-- }
      unlock();
      break
    fi
#endif
  od;
  seen = 0
}

inline claim() {
  ready = false;
  assert(turns == 0);
  turns++
}

proctype producer(bool synchronises) {
  byte number, seen, made;
  bool was_active;
  do
  :: made < EACH -> submit(); made++
  :: else -> break
  od;
  if
  :: synchronises ->
    do
    :: retired >= number -> break
    :: atomic { ready -> claim() } run_slice(number)
    od
  :: else
  fi;
  finished_producers++
}

proctype worker() {
  byte seen;
end:
  do
  :: atomic { ready -> claim() } run_slice(NO_LIMIT)
  od
}

/* Ends only once all is done: with a lost command it stays where it is, which is no valid end. */
proctype judge() {
  finished_producers == 2 && retired == ALL && !active_stream;
  assert(submitted == ALL && !ready && turns == 0)
}

init {
  atomic { run producer(true); run producer(false); run worker(); run judge() }
}
