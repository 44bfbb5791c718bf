/* SPDX-License-Identifier: Apache-2.0
 *
 * Compile-time comparison of a header with golden.h, in C and in C++. Included after the header.
 */
#include <stddef.h>

#include "golden.h"

#ifndef __cplusplus
#define ANYPLACE_GOLDEN_ASSERT(condition, text) _Static_assert(condition, text)
#else
#define ANYPLACE_GOLDEN_ASSERT(condition, text) static_assert(condition, text)
#endif

#define ANYPLACE_GOLDEN_SIZE(type, bytes) ANYPLACE_GOLDEN_ASSERT(sizeof(type) == (bytes), "the size of " #type);
#define ANYPLACE_GOLDEN_FIELD(type, field, offset, bytes)                                       \
  ANYPLACE_GOLDEN_ASSERT(offsetof(type, field) == (offset), "the offset of " #type "." #field); \
  ANYPLACE_GOLDEN_ASSERT(sizeof(((type*)0)->field) == (bytes), "the size of " #type "." #field);
#define ANYPLACE_GOLDEN_ENTRY(entry, presence, capabilities) \
  ANYPLACE_GOLDEN_FIELD(anyplace_backend_table, entry, ANYPLACE_GOLDEN_ENTRY_OFFSET(ANYPLACE_ENTRY_INDEX_##entry), 8)
#define ANYPLACE_GOLDEN_NUMBER(name, number) ANYPLACE_GOLDEN_ASSERT((int)(name) == (number), #name);

ANYPLACE_GOLDEN_STRUCTS(ANYPLACE_GOLDEN_SIZE)
ANYPLACE_GOLDEN_FIELDS(ANYPLACE_GOLDEN_FIELD)
ANYPLACE_ENTRY_LIST(ANYPLACE_GOLDEN_ENTRY)
ANYPLACE_GOLDEN_NUMBERS(ANYPLACE_GOLDEN_NUMBER)

/* Unsigned or wider than an int, so not in the table. */
ANYPLACE_GOLDEN_ASSERT(ANYPLACE_FOREVER == UINT64_MAX, "ANYPLACE_FOREVER");
ANYPLACE_GOLDEN_ASSERT(ANYPLACE_UNKNOWN == UINT64_MAX, "ANYPLACE_UNKNOWN");
ANYPLACE_GOLDEN_ASSERT(sizeof(anyplace_status) == 4, "the size of a status");
ANYPLACE_GOLDEN_ASSERT(sizeof(anyplace_stream) == 8 && sizeof(anyplace_event) == 8 && sizeof(anyplace_module) == 8 &&
                           sizeof(anyplace_kernel) == 8 && sizeof(anyplace_gate) == 8 && sizeof(anyplace_address) == 8,
                       "the size of a handle");
ANYPLACE_GOLDEN_ASSERT(sizeof(ANYPLACE_ENTRY_SYMBOL) == sizeof("anyplace_backend_entry"), "the exported symbol");
