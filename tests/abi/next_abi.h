/* SPDX-License-Identifier: Apache-2.0
 *
 * What the boundary could look like one minor version from now: today's structs with something at their ends. */
#pragma once

#include <anyplace/backend/abi.h>

#define NEXT_ABI_MINOR (ANYPLACE_ABI_MINOR + 1u)

typedef struct next_backend_table {
  anyplace_backend_table today;
  anyplace_status (*graph_create)(void* self, int32_t device, uint64_t* out);
  anyplace_status (*graph_launch)(void* self, anyplace_stream stream, uint64_t graph);
} next_backend_table;

typedef struct next_device_properties {
  anyplace_device_properties today;
  uint64_t graph_nodes;
} next_device_properties;

typedef struct next_memory_info {
  anyplace_memory_info today;
  uint64_t cached_bytes;
} next_memory_info;
