/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

#define MEMORY_BYTES (UINT64_C(1) << 30)
#define CAPABILITY(name) (UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_##name)

/* The capabilities that this backend claims. `anyplace conformance` tries each of them, and what isn't here is
 * unsupported. */
#define CAPABILITIES \
  (CAPABILITY(TIMED_EVENTS) | CAPABILITY(HOST_FUNCTIONS) | CAPABILITY(GATES) | CAPABILITY(PINNED_MEMORY))

anyplace_status fail(const anyplace_host* host, anyplace_status status, const char* text) {
  host->leave_message(host->context, 0, NULL, text);
  return status;
}

bool device_init(device* one, int32_t index, const anyplace_host* host) {
  one->index = index;
  one->host = host;
  one->streams = NULL;
  heap_init(&one->device_memory, MEMORY_BYTES);
  heap_init(&one->pinned_memory, MEMORY_BYTES);
  pthread_mutex_init(&one->mutex, NULL);
  return workers_init(&one->threads);
}

/* Texts and numbers that aren't set stay empty and 0, which means that they are unknown. */
void device_describe(const device* one, anyplace_device_properties* out) {
  out->compute_units = 1;
  out->capabilities = CAPABILITIES;
  out->total_memory = one->device_memory.total;
  out->address_alignment = HEAP_ALIGNMENT;
  snprintf(out->name, sizeof(out->name), "Newname %d", (int)one->index);
  snprintf(out->vendor, sizeof(out->vendor), "Newname");
}

heap* device_heap(device* one, uint32_t kind) {
  if (kind == ANYPLACE_MEMORY_DEVICE) return &one->device_memory;
  return kind == ANYPLACE_MEMORY_PINNED ? &one->pinned_memory : NULL;
}

/* ---- Its streams */

void device_add(device* one, stream* added) {
  pthread_mutex_lock(&one->mutex);
  added->next = one->streams;
  if (added->next != NULL) added->next->previous = added;
  one->streams = added;
  pthread_mutex_unlock(&one->mutex);
}

void device_remove(device* one, stream* removed) {
  pthread_mutex_lock(&one->mutex);
  if (removed->previous != NULL) removed->previous->next = removed->next;
  if (removed->next != NULL) removed->next->previous = removed->previous;
  if (one->streams == removed) one->streams = removed->next;
  pthread_mutex_unlock(&one->mutex);
}

/* The points that complete all submitted work, each with a share, in an array that the caller frees. Null if there
 * is no memory. They are taken all at once, so that work submitted meanwhile makes nobody wait longer. */
static point* marks(device* one, size_t* count) {
  pthread_mutex_lock(&one->mutex);
  *count = 0;
  for (stream* each = one->streams; each != NULL; each = each->next) ++*count;
  point* const all = calloc(*count + 1, sizeof(*all));
  size_t i = 0;
  for (stream* each = one->streams; all != NULL && each != NULL; each = each->next) all[i++] = stream_mark(each);
  pthread_mutex_unlock(&one->mutex);
  return all;
}

anyplace_status device_wait(device* one, const deadline* until) {
  size_t count = 0;
  point* const all = marks(one, &count);
  if (all == NULL) return fail(one->host, ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no memory to wait with");
  bool reached = true;
  for (size_t i = 0; i < count; ++i) {
    reached = reached && point_wait(all[i], until);
    point_release(all[i]);
  }
  free(all);
  return reached ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_TIMEOUT;
}

anyplace_status device_shut_down(device* one, const deadline* until) {
  const anyplace_status status = device_wait(one, until);
  if (status != ANYPLACE_STATUS_OK) return status;
  pthread_mutex_lock(&one->mutex);
  for (stream* each = one->streams; each != NULL; each = each->next) stream_close(each);
  pthread_mutex_unlock(&one->mutex);
  return workers_wait(&one->threads, until) ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_TIMEOUT;
}
