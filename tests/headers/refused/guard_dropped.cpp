// SPDX-License-Identifier: Apache-2.0
// A guard without a name: it has ended before the next line.
#include <anyplace/anyplace.h>

void guard_dropped(const anyplace::Device& device) { anyplace::DeviceGuard{device}; }
