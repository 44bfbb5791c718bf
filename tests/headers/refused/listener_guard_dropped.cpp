// SPDX-License-Identifier: Apache-2.0
// A guard without a name: it has ended before the next line.
#include <anyplace/anyplace.h>

void listener_guard_dropped(anyplace::annotate::Listener& listener) { anyplace::annotate::ListenerGuard{listener}; }
