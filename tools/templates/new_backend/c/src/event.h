/* SPDX-License-Identifier: Apache-2.0
 *
 * Event: the most recent record, to be replaced by the next. A wait takes the record that is there when it is
 * submitted, so recording again, or destroying the event, leaves it alone. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdbool.h>

#include "stream.h"
#include "timeline.h"

typedef struct event {
  bool timed;
  pthread_mutex_t mutex; /* guards all below; a leaf */
  point latest;          /* completes the most recent record */
  stamp* time;           /* of a timed event; null before the first record */
} event;

/* Null if there is no memory. */
event* event_open(bool timed);
void event_close(event* one);

anyplace_status event_record_on(event* one, stream* on);
/* The point that completes the most recent record, with a share; one that is past if there is none. */
point event_latest(event* one);
/* When the record's place came. TIMING_DISABLED, NOT_RECORDED or NOT_READY, with a message, if it can't tell. */
anyplace_status event_time(event* one, const anyplace_host* host, int64_t* ns);
