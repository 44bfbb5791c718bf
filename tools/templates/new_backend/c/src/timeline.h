/* SPDX-License-Identifier: Apache-2.0
 *
 * Timeline: a number that only rises, and a way to wait until it has reached another. It is all that this backend knows
 * of completion: a stream's counts the commands that are over, an event's record is a stream's timeline and the number
 * that completes it, a gate's goes from 0 to 1.
 *
 * On a device it is what the vendor calls a semaphore, a fence or a signal. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Until when a call waits. */
typedef struct deadline {
  bool forever;
  struct timespec end; /* of CLOCK_MONOTONIC */
} deadline;

deadline deadline_after(uint64_t timeout_ns);
/* A condition whose waits have deadlines. False if there is no room for one. */
bool condition_init(pthread_cond_t* condition);
/* Waits for a signal, with the mutex held. False if time has run out. */
bool condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const deadline* until);
/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* Shared: it lives until the last of its shares is released. */
typedef struct timeline timeline;

/* The first share; null if there is no memory. */
timeline* timeline_create(void);
timeline* timeline_retain(timeline* one);
void timeline_release(timeline* one);

/* What was done before is visible to whoever sees the new value. */
void timeline_advance(timeline* one);

/* A moment on a timeline. One without a timeline is always past. Where a point is kept it holds a share. */
typedef struct point {
  timeline* on;
  uint64_t target;
} point;

point point_retain(point one);
void point_release(point one);
bool point_reached(point one);
/* False if time ran out first. */
bool point_wait(point one, const deadline* until);
