/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "device.h"

/* ---- Stamps */

stamp* stamp_create(void) {
  stamp* const one = calloc(1, sizeof(*one));
  if (one != NULL) atomic_init(&one->shares, 1);
  return one;
}

stamp* stamp_retain(stamp* one) {
  if (one != NULL) atomic_fetch_add(&one->shares, 1);
  return one;
}

void stamp_release(stamp* one) {
  if (one != NULL && atomic_fetch_sub(&one->shares, 1) == 1) free(one);
}

/* ---- Commands */

static void fill(unsigned char* to, uint32_t value, uint32_t width, uint64_t count) {
  for (uint64_t i = 0; i < count * width; ++i) to[i] = (unsigned char)(value >> (8 * (i % width)));
}

static anyplace_status command_run(const command* one) {
  const deadline never = {.forever = true};
  switch (one->kind) {
    case COMMAND_COPY:
      memcpy(one->as.copy.to, one->as.copy.from, one->as.copy.bytes);
      return ANYPLACE_STATUS_OK;
    case COMMAND_FILL:
      fill(one->as.fill.to, one->as.fill.value, one->as.fill.width, one->as.fill.count);
      return ANYPLACE_STATUS_OK;
    case COMMAND_FUNCTION:
      one->as.function.call(one->as.function.user, ANYPLACE_STATUS_OK);
      return ANYPLACE_STATUS_OK;
    case COMMAND_WAIT:
      point_wait(one->as.wait, &never);
      return ANYPLACE_STATUS_OK;
    case COMMAND_STAMP:
      one->as.time->ns = now_ns();
      return ANYPLACE_STATUS_OK;
  }
  return ANYPLACE_STATUS_INTERNAL;
}

static void release_shares(const command* one) {
  if (one->kind == COMMAND_WAIT) point_release(one->as.wait);
  if (one->kind == COMMAND_STAMP) stamp_release(one->as.time);
}

/* ---- Life */

stream* stream_open(device* of, uint64_t cookie) {
  stream* const one = calloc(1, sizeof(*one));
  if (one == NULL) return NULL;
  one->completed = timeline_create();
  if (one->completed == NULL || !condition_init(&one->changed)) {
    timeline_release(one->completed);
    free(one);
    return NULL;
  }
  pthread_mutex_init(&one->mutex, NULL);
  atomic_init(&one->shares, 1);
  one->of = of;
  one->cookie = cookie;
  device_add(of, one);
  return one;
}

void stream_release(stream* one) {
  if (atomic_fetch_sub(&one->shares, 1) != 1) return;
  device_remove(one->of, one);
  timeline_release(one->completed);
  pthread_cond_destroy(&one->changed);
  pthread_mutex_destroy(&one->mutex);
  free(one);
}

void stream_close(stream* one) {
  pthread_mutex_lock(&one->mutex);
  one->closed = true;
  pthread_cond_signal(&one->changed);
  pthread_mutex_unlock(&one->mutex);
}

/* ---- The worker */

/* Waits for the next command, which then belongs to the caller; null when there will be none. Called with the mutex
 * held. */
static command* take(stream* one) {
  while (one->first == NULL && !one->closed) pthread_cond_wait(&one->changed, &one->mutex);
  command* const next = one->first;
  if (next == NULL) return NULL;
  one->first = next->next;
  if (one->first == NULL) one->last = NULL;
  return next;
}

/* The fault of a command belongs to its stream: anyplace shows it in query and throws it in synchronize. The stream
 * goes on, unless the status is DEVICE_LOST. */
static void execute(const stream* one, const command* next) {
  const anyplace_status status = command_run(next);
  if (status == ANYPLACE_STATUS_OK) return;
  const anyplace_host* const host = one->of->host;
  host->stream_fault(host->context, one->cookie, status, 0, NULL, "a command failed while it ran");
}

static void work(void* argument) {
  stream* const one = argument;
  pthread_mutex_lock(&one->mutex);
  for (command* next = take(one); next != NULL; next = take(one)) {
    pthread_mutex_unlock(&one->mutex);
    execute(one, next);
    release_shares(next);
    free(next);
    timeline_advance(one->completed);
    pthread_mutex_lock(&one->mutex);
  }
  one->has_worker = false;
  pthread_mutex_unlock(&one->mutex);
  stream_release(one);
}

/* Starts a worker if none runs. Called with the mutex held. */
static anyplace_status need_worker(stream* one) {
  if (one->has_worker) return ANYPLACE_STATUS_OK;
  atomic_fetch_add(&one->shares, 1);
  const anyplace_status status = workers_start(&one->of->threads, one->of->host, work, one);
  if (status == ANYPLACE_STATUS_OK) {
    one->has_worker = true;
  } else {
    atomic_fetch_sub(&one->shares, 1); /* it isn't the last share: the caller has the handle's */
  }
  return status;
}

/* ---- Submitting */

anyplace_status stream_submit(stream* one, command what, point* done) {
  command* const added = malloc(sizeof(*added));
  if (added == NULL) {
    release_shares(&what);
    return fail(one->of->host, ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no memory for a command");
  }
  *added = what;
  added->next = NULL;
  pthread_mutex_lock(&one->mutex);
  const anyplace_status status = need_worker(one);
  if (status == ANYPLACE_STATUS_OK) {
    if (one->last != NULL) {
      one->last->next = added;
    } else {
      one->first = added;
    }
    one->last = added;
    ++one->submitted;
    if (done != NULL) *done = point_retain((point){one->completed, one->submitted});
    pthread_cond_signal(&one->changed);
  }
  pthread_mutex_unlock(&one->mutex);
  if (status != ANYPLACE_STATUS_OK) {
    release_shares(added);
    free(added);
  }
  return status;
}

point stream_mark(stream* one) {
  pthread_mutex_lock(&one->mutex);
  const point mark = point_retain((point){one->completed, one->submitted});
  pthread_mutex_unlock(&one->mutex);
  return mark;
}

anyplace_status stream_wait_for(stream* one, point until) {
  /* A point of this stream's earlier work, or one that has been reached, needs no wait. */
  if (until.on == one->completed || point_reached(until)) {
    point_release(until);
    return ANYPLACE_STATUS_OK;
  }
  return stream_submit(one, (command){.kind = COMMAND_WAIT, .as.wait = until}, NULL);
}
