/* SPDX-License-Identifier: Apache-2.0
 *
 * Timeline: a number that only rises, and a way to wait until it has reached another. Everything that completes in
 * this backend is a timeline: a stream's counts the commands that are over, an event's record is a stream's
 * timeline and the number that completes it, a gate's goes from 0 to 1.
 *
 * On a device a timeline is what the vendor calls a semaphore, a fence or a signal. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The time until which a call waits. */
typedef struct deadline {
  bool forever;
  struct timespec end; /* on CLOCK_MONOTONIC */
} deadline;

deadline deadline_after(uint64_t timeout_ns);
/* Makes a condition whose waits have deadlines. False if there is no memory for one. */
bool condition_init(pthread_cond_t* condition);
/* Waits for a signal, with the mutex held. False if time has run out. */
bool condition_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const deadline* until);
/* The time of CLOCK_MONOTONIC in nanoseconds. */
int64_t now_ns(void);

/* A timeline counts its shares (references), and lives until the last of them is released. */
typedef struct timeline timeline;

/* Makes a timeline and returns its first share; null if there is no memory. */
timeline* timeline_create(void);
timeline* timeline_retain(timeline* one);
void timeline_release(timeline* one);

/* Raises the number. A thread that sees the new value sees all that was done before. */
void timeline_advance(timeline* one);

/* A moment on a timeline. A point without a timeline is always past. A point that is kept holds a share. */
typedef struct point {
  timeline* on;
  uint64_t target;
} point;

point point_retain(point one);
void point_release(point one);
bool point_reached(point one);
/* Waits for the point. False if time ran out first. */
bool point_wait(point one, const deadline* until);
