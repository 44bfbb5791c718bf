/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a kernel: launches of it are queued on two streams without a reference, then it is destroyed while they, and what
 * others submit, run. Destroying it leaves a reference in each stream in which something isn't complete, behind what is queued
 * there. (That a stream remembers which kernels it had, and is left out if it had none, only leaves more out.)
 *
 * code:     backends/cpu_sim/stream.cpp (keep_while_queued), device.cpp (keep_while_queued), engine.cpp (retire)
 * abstract: submitting and going idle are one step each (submit_idle.pml is about them)
 * checked:  no launch runs once the kernel was released, it is released once, and before the streams that had launches of it are
 *           idle again; and at once, by the destroying thread, if all was complete
 *
 * check: safety
 * fault: KEEPS_NONE assertion        the destroying thread holds no reference while it leaves the others
 * fault: IDLE_UNLOCKED assertion     whether a stream is active is looked at before its lock is taken
 * fault: RETIRES_FIRST assertion     a command counts as complete before it has run
 * fault: READY_ONLY assertion        a stream that is on a thread isn't looked at: only what is in the queue
 */
#define STREAMS 2
#define MOST 4

/* Commands. */
#define ANOTHER 0
#define LAUNCH 1
#define DROP 2

byte submitted[STREAMS], retired[STREAMS];
byte command[STREAMS * (MOST + 1)];
bool active_stream[STREAMS], running[STREAMS];
byte references = 1, released;
bool destroyed;

inline append(stream, what) {
  submitted[stream]++;
  command[stream * (MOST + 1) + submitted[stream]] = what
}

inline submit(stream, what) {
  d_step { append(stream, what); active_stream[stream] = true }
}

inline drop() {
  d_step {
    assert(references > 0 && released == 0);
    references--;
    if
    :: references == 0 -> released++
    :: else
    fi
  }
}

proctype consumer(byte stream) {
  byte what;
end:
  do
  :: active_stream[stream] ->
    running[stream] = true;
    do
    :: retired[stream] < submitted[stream] ->
      what = command[stream * (MOST + 1) + retired[stream] + 1];
#ifdef RETIRES_FIRST
      retired[stream]++;
#endif
      if
      :: what == LAUNCH -> assert(released == 0); assert(released == 0)
      :: what == DROP -> drop()
      :: else
#ifdef RETIRES_FIRST
      fi
#else
      fi;
      retired[stream]++
#endif
    :: atomic {
        retired[stream] == submitted[stream];
        active_stream[stream] = false;
        running[stream] = false;
        break
      }
    od
  od
}

inline keep_while_queued(stream) {
#ifdef IDLE_UNLOCKED
  was_active = active_stream[stream];
  if
  :: was_active -> left = true; references++; append(stream, DROP)
  :: else
  fi
#else
  atomic {
    if
#ifdef READY_ONLY
    :: active_stream[stream] && retired[stream] < submitted[stream] && !running[stream] ->
      left = true; references++; append(stream, DROP)
#else
    :: active_stream[stream] && retired[stream] < submitted[stream] -> left = true; references++; append(stream, DROP)
#endif
    :: else
    fi
  }
#endif
}

proctype user() {
  bool left;
#ifdef IDLE_UNLOCKED
  bool was_active;
#endif
  submit(0, LAUNCH);
  submit(0, LAUNCH);
  submit(1, LAUNCH);
#ifdef KEEPS_NONE
  drop();
#endif
  keep_while_queued(0);
  keep_while_queued(1);
#ifndef KEEPS_NONE
  drop();
#endif
  assert(left || released == 1);
  destroyed = true
}

proctype another() {
  submit(0, ANOTHER);
  submit(1, ANOTHER)
}

proctype judge() {
  destroyed && !active_stream[0] && !active_stream[1];
  assert(released == 1)
}

init {
  atomic { run consumer(0); run consumer(1); run user(); run another(); run judge() }
}
