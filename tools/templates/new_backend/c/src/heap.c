/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"

/* Each allocation has a header in front, as large as the alignment, which holds its size. */
enum { HEADER = HEAP_ALIGNMENT };

void heap_init(heap* one, uint64_t total_bytes) {
  one->total = total_bytes;
  one->used = 0;
  pthread_mutex_init(&one->mutex, NULL);
}

/* Counts the bytes as used. If too few are free, returns false and how many are. */
static bool reserve(heap* one, uint64_t bytes, uint64_t* free_bytes) {
  pthread_mutex_lock(&one->mutex);
  *free_bytes = one->total - one->used;
  const bool enough = bytes <= *free_bytes;
  if (enough) one->used += bytes;
  pthread_mutex_unlock(&one->mutex);
  return enough;
}

static void give_back(heap* one, uint64_t bytes) {
  pthread_mutex_lock(&one->mutex);
  one->used -= bytes;
  pthread_mutex_unlock(&one->mutex);
}

anyplace_status heap_allocate(heap* one, const anyplace_host* host, uint64_t bytes, anyplace_address* out) {
  uint64_t free_bytes = 0;
  if (!reserve(one, bytes, &free_bytes)) {
    char text[128];
    snprintf(text, sizeof(text), "%" PRIu64 " bytes are wanted, %" PRIu64 " of %" PRIu64 " are free", bytes, free_bytes,
             one->total);
    return fail(host, ANYPLACE_STATUS_OUT_OF_MEMORY, text);
  }
  const uint64_t rounded = (bytes + HEAP_ALIGNMENT - 1) / HEAP_ALIGNMENT * HEAP_ALIGNMENT;
  char* const memory = aligned_alloc(HEAP_ALIGNMENT, HEADER + rounded);
  if (memory == NULL) {
    give_back(one, bytes);
    return fail(host, ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no more memory");
  }
  *(uint64_t*)(void*)memory = bytes;
  *out = (anyplace_address)(uintptr_t)(memory + HEADER);
  return ANYPLACE_STATUS_OK;
}

void heap_free(heap* one, anyplace_address address) {
  char* const memory = (char*)(uintptr_t)address - HEADER;
  give_back(one, *(const uint64_t*)(void*)memory);
  free(memory);
}

uint64_t heap_free_bytes(heap* one) {
  pthread_mutex_lock(&one->mutex);
  const uint64_t bytes = one->total - one->used;
  pthread_mutex_unlock(&one->mutex);
  return bytes;
}
