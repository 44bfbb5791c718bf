/* SPDX-License-Identifier: Apache-2.0 */
#include "event.h"

#include <stdlib.h>

#include "device.h"

event* event_open(bool timed) {
  event* const one = calloc(1, sizeof(*one));
  if (one == NULL) return NULL;
  pthread_mutex_init(&one->mutex, NULL);
  one->timed = timed;
  return one;
}

void event_close(event* one) {
  point_release(one->latest);
  stamp_release(one->time);
  pthread_mutex_destroy(&one->mutex);
  free(one);
}

anyplace_status event_record_on(event* one, stream* on) {
  point record = {0};
  stamp* time = NULL;
  if (one->timed) {
    time = stamp_create();
    if (time == NULL) return fail(on->of->host, ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no memory for a record");
    const command what = {.kind = COMMAND_STAMP, .as.time = stamp_retain(time)};
    const anyplace_status status = stream_submit(on, what, &record);
    if (status != ANYPLACE_STATUS_OK) {
      stamp_release(time);
      return status;
    }
  } else {
    record = stream_mark(on);
  }
  pthread_mutex_lock(&one->mutex);
  const point earlier = one->latest;
  stamp* const earlier_time = one->time;
  one->latest = record;
  one->time = time;
  pthread_mutex_unlock(&one->mutex);
  point_release(earlier);
  stamp_release(earlier_time);
  return ANYPLACE_STATUS_OK;
}

point event_latest(event* one) {
  pthread_mutex_lock(&one->mutex);
  const point latest = point_retain(one->latest);
  pthread_mutex_unlock(&one->mutex);
  return latest;
}

anyplace_status event_time(event* one, const anyplace_host* host, int64_t* ns) {
  if (!one->timed) return fail(host, ANYPLACE_STATUS_TIMING_DISABLED, "the event was made without timing");
  pthread_mutex_lock(&one->mutex);
  stamp* const time = stamp_retain(one->time);
  const bool complete = point_reached(one->latest);
  pthread_mutex_unlock(&one->mutex);
  anyplace_status status = ANYPLACE_STATUS_OK;
  if (time == NULL) {
    status = fail(host, ANYPLACE_STATUS_NOT_RECORDED, "the event was never recorded");
  } else if (!complete) {
    status = fail(host, ANYPLACE_STATUS_NOT_READY, "the event's record is not complete");
  } else {
    *ns = time->ns;
  }
  stamp_release(time);
  return status;
}
