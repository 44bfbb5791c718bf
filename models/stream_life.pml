/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a stream: two threads with a handle submit and drop their handles, its commands run, it is recycled, and a new owner takes
 * it from the pool.
 *
 * code:     backends/cpu_sim/stream.h (push), stream.cpp (open, drop_handle, go_idle, recycle), stream_pool.cpp (take, give_back)
 * abstract: the pool has one stream; as in submit_idle.pml
 * checked:  a stream is recycled once for each life, after its last command ran and its last handle went, and nobody touches one
 *           that is in the pool
 *
 * check: safety
 * fault: ACTIVE_UNLOCKED end state   a thread that drops a handle reads `active` before it has the lock
 * fault: IDLE_FORGETS end state      a thread that makes the stream idle doesn't check whether there is a handle
 * fault: CLOSE_IGNORES assertion     a thread that drops the last handle doesn't check whether the stream is active
 */
#define ALL 3

bit locked;
byte handles, submitted, retired;
bool active_stream, ready, pooled = true;

byte life;               /* how many owners it had; with the commands, for the assertions */
byte life_of[ALL + 1];
byte recycled;

inline lock() { atomic { locked == 0; locked = 1 } }
inline unlock() { locked = 0 }

/* No lock: nobody else knows of the stream any more. */
inline recycle() {
  d_step {
    assert(!pooled && handles == 0 && !active_stream && !ready && submitted == retired);
    recycled++;
    pooled = true
  }
}

/* The counters go on from where they were. */
inline open(with_handles) {
  atomic {
    pooled;
    pooled = false;
    handles = with_handles;
    life++;
    assert(!active_stream && !ready)
  }
}

inline submit() {
  lock();
  assert(!pooled && handles > 0);
  life_of[submitted + 1] = life;
  submitted++;
  was_active = active_stream;
  active_stream = true;
  unlock();
  if
  :: !was_active -> atomic { assert(!pooled && !ready); ready = true }
  :: else
  fi
}

inline drop_handle() {
#ifdef ACTIVE_UNLOCKED
  was_active = active_stream;
  lock();
#else
  lock();
  was_active = active_stream;
#endif
#ifdef CLOSE_IGNORES
  was_active = false;
#endif
  assert(!pooled);
  handles--;
  last = handles == 0;
  unlock();
  if
  :: last && !was_active -> recycle()
  :: else
  fi
}

proctype user(bool submits) {
  bool was_active, last;
  if
  :: submits -> submit()
  :: else
  fi;
  drop_handle()
}

proctype next_owner() {
  bool was_active, last;
  open(1);
  submit();
  drop_handle()
}

proctype worker() {
  bool idle, recycles;
  byte seen;
end:
  do
  :: atomic { ready -> ready = false }
    idle = false;
    do
    :: !idle ->
      seen = submitted;
      do
      :: retired < seen ->
        d_step {
          assert(!pooled && life_of[retired + 1] == life);
          retired++
        }
      :: else -> break
      od;
      lock();
      assert(!pooled);
      if
      :: submitted != retired -> unlock()
      :: else ->
        d_step {
          active_stream = false;
          recycles = handles == 0;
          idle = true
        }
#ifdef IDLE_FORGETS
        recycles = false;
#endif
        unlock();
        if
        :: recycles -> recycle()
        :: else
        fi
      fi
    :: else -> break
    od
  od
}

proctype judge() {
  recycled == 2;
  assert(retired == ALL)
}

init {
  atomic {
    open(2);
    run user(true);
    run user(true);
    run next_owner();
    run worker();
    run judge()
  }
}
