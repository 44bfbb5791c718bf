/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"

#include <signal.h>
#include <stdlib.h>

#include "device.h"

typedef struct start {
  workers* all;
  void (*body)(void* argument);
  void* argument;
} start;

bool workers_init(workers* all) {
  all->running = 0;
  pthread_mutex_init(&all->mutex, NULL);
  return condition_init(&all->changed);
}

static void count(workers* all, bool begins) {
  pthread_mutex_lock(&all->mutex);
  all->running += begins ? 1 : -UINT64_C(1);
  pthread_cond_broadcast(&all->changed);
  pthread_mutex_unlock(&all->mutex);
}

static void* run(void* given) {
  const start own = *(const start*)given;
  free(given);
  own.body(own.argument);
  count(own.all, false);
  return NULL;
}

anyplace_status workers_start(workers* all, const anyplace_host* host, void (*body)(void* argument), void* argument) {
  start* const given = malloc(sizeof(*given));
  if (given == NULL) return fail(host, ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no memory for a thread");
  *given = (start){all, body, argument};
  count(all, true);
  pthread_t thread;
  /* Signals are the application's: the new thread inherits the mask, and takes only the signals of its own faults. */
  sigset_t blocked, before;
  sigfillset(&blocked);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); ++i) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const int error = pthread_create(&thread, NULL, run, given);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error != 0) {
    count(all, false);
    free(given);
    return fail(host, ANYPLACE_STATUS_BACKEND_FAILED, "the host starts no more threads");
  }
  /* The thread is detached, because destroying a stream returns at once and nobody could wait to join it. */
  pthread_detach(thread);
  return ANYPLACE_STATUS_OK;
}

bool workers_wait(workers* all, const deadline* until) {
  bool in_time = true;
  pthread_mutex_lock(&all->mutex);
  while (all->running != 0 && in_time) in_time = condition_wait(&all->changed, &all->mutex, until);
  const bool ended = all->running == 0;
  pthread_mutex_unlock(&all->mutex);
  return ended;
}
