// SPDX-License-Identifier: Apache-2.0
//
// The end of the process: a bounded wait for submitted work, then the backends' shutdown. What doesn't finish in time
// is left behind and reported in one line. This file also watches for forks, after which every call in the child fails.
#pragma once

namespace anyplace::detail {

/// An atexit handler. The first call does the work; later calls, and calls in a forked child, do nothing. It is
/// registered before a plugin is opened and again after the plugin's entry returned. Exit runs handlers in reverse
/// order, so this one runs before the destructors of the plugin's own static objects.
void shut_down_at_exit();

/// Registers the handlers for fork and exit. Called before a backend's first use. Idempotent. Throws bad_alloc.
void watch_process();

}  // namespace anyplace::detail
