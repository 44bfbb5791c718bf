/* SPDX-License-Identifier: Apache-2.0
 *
 * Heap: memory of one kind, up to a limit. This backend takes it from the host, so addresses are the host's. */
#pragma once

#include <anyplace/backend/abi.h>
#include <pthread.h>
#include <stdint.h>

/* The alignment of every allocation, in bytes. anyplace asks for 256 at least. */
enum { HEAP_ALIGNMENT = 256 };

typedef struct heap {
  uint64_t total;
  pthread_mutex_t mutex; /* guards used; a leaf */
  uint64_t used;
} heap;

void heap_init(heap* one, uint64_t total_bytes);
/* Returns OUT_OF_MEMORY, with a message, if too few bytes are free. */
anyplace_status heap_allocate(heap* one, const anyplace_host* host, uint64_t bytes, anyplace_address* out);
void heap_free(heap* one, anyplace_address address);
uint64_t heap_free_bytes(heap* one);
