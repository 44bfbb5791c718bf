// SPDX-License-Identifier: Apache-2.0
// A range without a name: it has ended before the next line.
#include <anyplace/anyplace.h>

void range_dropped() { anyplace::annotate::Range("step"); }
