/* SPDX-License-Identifier: Apache-2.0
 *
 * Device: its properties, its memory, and its streams as a whole.
 *
 * A device is never destroyed, because a process that exits may still have handles and threads that point at it. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap.h"
#include "stream.h"
#include "timeline.h"
#include "workers.h"

struct device {
  int32_t index;
  const anyplace_host* host;
  heap device_memory;
  heap pinned_memory;
  workers threads;
  pthread_mutex_t mutex; /* guards streams */
  stream* streams;
};

/* Leaves the message for this thread and returns the status. */
anyplace_status fail(const anyplace_host* host, anyplace_status status, const char* text);

/* Makes a device that has no streams yet. False if the system has no memory for it. */
bool device_init(device* one, int32_t index, const anyplace_host* host);
/* Fills in the properties. `out` is zeroed. */
void device_describe(const device* one, anyplace_device_properties* out);
/* The heap for memory of that `kind`, which is ANYPLACE_MEMORY_*; null for a kind that this device lacks. */
heap* device_heap(device* one, uint32_t kind);

/* Waits for all work that was submitted to any stream; TIMEOUT if time ran out first. */
anyplace_status device_wait(device* one, const deadline* until);
/* Waits for all work and ends the threads; TIMEOUT if time ran out first. Nothing is submitted afterwards. */
anyplace_status device_shut_down(device* one, const deadline* until);

/* Called by streams, which are in the device's list from beginning to end. */
void device_add(device* one, stream* added);
void device_remove(device* one, stream* removed);
