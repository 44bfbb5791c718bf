// SPDX-License-Identifier: Apache-2.0
//
// Loaded with LD_PRELOAD: threads are late now and then, by a yield or by up to 30 ms, where they take or leave a lock
// and where they wake others. On a quiet machine the same thread nearly always comes first; so the other orders happen,
// too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

static __thread uint64_t state;

// xorshift64, from the time, so that no two runs are alike.
static uint64_t drawn(void) {
  if (state == 0) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    state = ((uint64_t)now.tv_nsec << 24 ^ (uint64_t)(uintptr_t)&state ^ (uint64_t)getpid()) | 1;
  }
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state >> 16;
}

static void sleep_up_to(long nanoseconds) {
  const struct timespec time = {0, (long)(drawn() % (uint64_t)nanoseconds)};
  nanosleep(&time, NULL);
}

static void jolt(void) {
  const int error = errno;  // which the caller may have got before it takes its lock
  const uint64_t chance = drawn() % 6000;
  if (chance == 0) {
    sleep_up_to(30000000);
  } else if (chance < 5) {
    sleep_up_to(3000000);
  } else if (chance < 60) {
    sched_yield();
  }
  errno = error;
}

#define JOLTED(name, type)                                      \
  int name(type* object) {                                      \
    static int (*next)(type*);                                  \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    jolt();                                                     \
    const int result = next(object);                            \
    jolt();                                                     \
    return result;                                              \
  }

JOLTED(pthread_mutex_lock, pthread_mutex_t)
JOLTED(pthread_mutex_unlock, pthread_mutex_t)
JOLTED(pthread_cond_signal, pthread_cond_t)
JOLTED(pthread_cond_broadcast, pthread_cond_t)
