/* SPDX-License-Identifier: Apache-2.0
 *
 * What plugins of tests do to a whole table, in C and in C++: they take entries away. */
#pragma once

#include <anyplace/backend/entries.h>

/* Makes null what only devices with one of the capabilities in `absent` need: 1 << ANYPLACE_CAPABILITY_BIT_*. */
static inline void remove_entries(anyplace_backend_table* table, uint64_t absent) {
#define REMOVE_ENTRY(entry, presence, capabilities) \
  if ((capabilities) != 0 && ((capabilities) & ~absent) == 0) table->entry = NULL;
  ANYPLACE_ENTRY_LIST(REMOVE_ENTRY)
#undef REMOVE_ENTRY
}
