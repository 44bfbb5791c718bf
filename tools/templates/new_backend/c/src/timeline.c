/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <anyplace/backend/abi.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { NS_PER_S = 1000000000 };

struct timeline {
  atomic_uint shares;
  pthread_mutex_t mutex; /* guards value; a leaf: nothing is locked under it */
  pthread_cond_t changed;
  uint64_t value;
};

deadline deadline_after(uint64_t timeout_ns) {
  deadline until = {.forever = timeout_ns == ANYPLACE_FOREVER};
  clock_gettime(CLOCK_MONOTONIC, &until.end);
  if (until.forever) return until;
  const uint64_t ns = (uint64_t)until.end.tv_nsec + timeout_ns % NS_PER_S;
  until.end.tv_sec += (time_t)(timeout_ns / NS_PER_S + ns / NS_PER_S);
  until.end.tv_nsec = (long)(ns % NS_PER_S);
  return until;
}

bool condition_init(pthread_cond_t* condition) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return false;
  const bool made =
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(condition, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  return made;
}

bool condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const deadline* until) {
  if (!until->forever) return pthread_cond_timedwait(condition, mutex, &until->end) != ETIMEDOUT;
  pthread_cond_wait(condition, mutex);
  return true;
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

timeline* timeline_create(void) {
  timeline* const one = calloc(1, sizeof(*one));
  if (one == NULL) return NULL;
  if (!condition_init(&one->changed)) {
    free(one);
    return NULL;
  }
  pthread_mutex_init(&one->mutex, NULL);
  atomic_init(&one->shares, 1);
  return one;
}

timeline* timeline_retain(timeline* one) {
  if (one != NULL) atomic_fetch_add(&one->shares, 1);
  return one;
}

void timeline_release(timeline* one) {
  if (one == NULL || atomic_fetch_sub(&one->shares, 1) != 1) return;
  pthread_cond_destroy(&one->changed);
  pthread_mutex_destroy(&one->mutex);
  free(one);
}

void timeline_advance(timeline* one) {
  pthread_mutex_lock(&one->mutex);
  ++one->value;
  pthread_cond_broadcast(&one->changed);
  pthread_mutex_unlock(&one->mutex);
}

point point_retain(point one) {
  timeline_retain(one.on);
  return one;
}

void point_release(point one) { timeline_release(one.on); }

bool point_reached(point one) {
  if (one.on == NULL) return true;
  pthread_mutex_lock(&one.on->mutex);
  const bool reached = one.on->value >= one.target;
  pthread_mutex_unlock(&one.on->mutex);
  return reached;
}

bool point_wait(point one, const deadline* until) {
  if (one.on == NULL) return true;
  bool in_time = true;
  pthread_mutex_lock(&one.on->mutex);
  while (one.on->value < one.target && in_time) in_time = condition_wait(&one.on->changed, &one.on->mutex, until);
  const bool reached = one.on->value >= one.target;
  pthread_mutex_unlock(&one.on->mutex);
  return reached;
}
