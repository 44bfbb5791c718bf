/* SPDX-License-Identifier: Apache-2.0
 *
 * Stream: commands that run in order, on a thread of the stream's own, after the call that submitted them returned.
 *
 * The handle keeps a stream alive and, while the stream has work, so does its worker: so destroying the handle
 * returns at once and the work completes. A command is destroyed, with everything that it holds, before it counts
 * as complete.
 *
 * Lock order in this backend: a device's mutex, a stream's, then the leaves (workers, timelines, events, heaps). No
 * command runs under any of them. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "timeline.h"

typedef struct device device;

/* The time at which an event's place in its stream came. The event and the command that writes it share it. It may
 * be read when the command is over. */
typedef struct stamp {
  atomic_uint shares;
  int64_t ns;
} stamp;

stamp* stamp_create(void); /* the first share; null if there is no memory */
stamp* stamp_retain(stamp* one);
void stamp_release(stamp* one);

typedef enum command_kind { COMMAND_COPY, COMMAND_FILL, COMMAND_FUNCTION, COMMAND_WAIT, COMMAND_STAMP } command_kind;

typedef struct command {
  struct command* next;
  command_kind kind;
  union {
    struct {
      void* to;
      const void* from;
      uint64_t bytes;
    } copy;
    struct {
      unsigned char* to;
      uint32_t value;
      uint32_t width;
      uint64_t count;
    } fill;
    struct {
      anyplace_host_function call;
      void* user;
    } function;
    point wait;  /* a share */
    stamp* time; /* a share */
  } as;
} command;

typedef struct stream {
  atomic_uint shares; /* the handle's and the worker's */
  device* of;
  uint64_t cookie; /* tells anyplace which stream's command failed */
  timeline* completed;

  struct stream* previous; /* in the device's list; guarded by the device's mutex */
  struct stream* next;

  pthread_mutex_t mutex; /* guards the members below */
  pthread_cond_t changed;
  command* first;
  command* last;
  uint64_t submitted;
  bool has_worker;
  bool closed;
} stream;

/* Makes a stream and returns the handle's share of it; null if there is no memory. */
stream* stream_open(device* of, uint64_t cookie);
/* Gives up the handle's share. */
void stream_release(stream* one);
/* Makes the worker end once all submitted commands are done. */
void stream_close(stream* one);

/* Appends a copy of `what`, which must own the shares in it: they are taken over, also if this fails. `done`, which may
 * be null, becomes the point that completes it, with a share. */
anyplace_status stream_submit(stream* one, command what, point* done);
/* The point that completes all commands submitted before, with a share. */
point stream_mark(stream* one);
/* Holds back commands that are submitted later until `until`, whose share is taken over. Doesn't block the caller. */
anyplace_status stream_wait_for(stream* one, point until);
