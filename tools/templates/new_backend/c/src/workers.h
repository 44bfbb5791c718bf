/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers: the threads that run the streams' commands in place of a device, one for each stream that has had work. They
 * are counted, so that the process can wait for them when it exits. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "timeline.h"

typedef struct workers {
  pthread_mutex_t mutex; /* guards running; a leaf */
  pthread_cond_t changed;
  uint64_t running;
} workers;

/* Makes a counter of threads. False if the system has no memory for it. */
bool workers_init(workers* all);
/* Runs body(argument) on a thread of its own. If this fails, it leaves a message, and body never runs. */
anyplace_status workers_start(workers* all, const anyplace_host* host, void (*body)(void* argument), void* argument);
/* Waits until no thread runs; false if time ran out first. */
bool workers_wait(workers* all, const deadline* until);
