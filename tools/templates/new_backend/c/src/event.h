/* SPDX-License-Identifier: Apache-2.0
 *
 * Event: keeps its most recent record. A wait takes the record that the event has when the wait is submitted, so a
 * later record, or the end of the event, doesn't change the wait. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdbool.h>

#include "stream.h"
#include "timeline.h"

typedef struct event {
  bool timed;
  pthread_mutex_t mutex; /* guards the members below; a leaf */
  point latest;          /* completes the most recent record */
  stamp* time;           /* set for a timed event; null before the first record */
} event;

/* Makes an event; null if there is no memory. */
event* event_open(bool timed);
void event_close(event* one);

anyplace_status event_record_on(event* one, stream* on);
/* The point that completes the most recent record, with a share; a past point if there is no record. */
point event_latest(event* one);
/* The time when the record's place in its stream came. Returns TIMING_DISABLED, NOT_RECORDED or NOT_READY, with a
 * message, if there is none. */
anyplace_status event_time(event* one, const anyplace_host* host, int64_t* ns);
