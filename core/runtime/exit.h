// SPDX-License-Identifier: Apache-2.0
//
// The end of the process: a bounded wait for submitted work, then the backends' shutdown. What doesn't finish in time
// is left behind and reported in one line. This file also watches for forks: once a backend was initialised, every call
// in the child fails. A backend that was refused isn't initialised, and the core calls it no more.
#pragma once

namespace anyplace::detail {

/// An atexit handler. The first call does the work; later calls, and calls in a forked child, do nothing. It is
/// registered before a plugin is opened and again after the plugin's entry returned. Exit runs handlers in reverse
/// order, so this one runs before the destructors of the plugin's own static objects.
void shut_down_at_exit();

/// Registers the handlers for fork and exit. Called before a backend's first use. Idempotent. Throws bad_alloc.
void watch_process();

/// A backend was accepted, or its entry succeeded and it may still be: from now on the child of a fork can't use
/// anyplace.
void add_initialised() noexcept;
/// A backend whose entry succeeded was refused after all.
void remove_initialised() noexcept;

/// Counts as an initialised backend while plugins are loaded: the child of a fork has neither the thread that loads nor
/// what it has locked.
class LoadingScope {
 public:
  LoadingScope() noexcept { add_initialised(); }
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;
  ~LoadingScope() { remove_initialised(); }
};

}  // namespace anyplace::detail
