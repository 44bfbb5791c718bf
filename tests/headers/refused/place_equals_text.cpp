// SPDX-License-Identifier: Apache-2.0
// A comparison that would throw for a text that is no place.
#include <anyplace/anyplace.h>

bool place_equals_text(const anyplace::Place& place) { return place == "cuda 0"; }
