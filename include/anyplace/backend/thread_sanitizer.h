// SPDX-License-Identifier: Apache-2.0
//
// Happens-before annotations for an application that is built with ThreadSanitizer and a library that isn't. The
// runtime sees the mutexes of such a library, but not its atomics. Where an atomic publishes data that the
// application's own code reads and writes (a callable, a closure, memory that a kernel uses), the writer calls
// release_to_sanitizer(tag) before, and the reader acquire_from_sanitizer(tag) after, with the same address.
//
// The runtime is found by weak symbols when the library is loaded; without it each call is a load and a branch. In code
// that is compiled for ThreadSanitizer the calls do nothing, as the sanitizer sees the atomics there.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define ANYPLACE_SANITIZED_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ANYPLACE_SANITIZED_THREADS 1
#endif
#endif

#if !defined(ANYPLACE_SANITIZED_THREADS) && defined(__GNUC__) && defined(__ELF__)
extern "C" {
__attribute__((weak, visibility("default"))) void __tsan_acquire(void* address);
__attribute__((weak, visibility("default"))) void __tsan_release(void* address);
}
#define ANYPLACE_HAS_SANITIZER_HOOKS 1
#endif

namespace anyplace::backend {

/// Whether the process runs under ThreadSanitizer and this code wasn't compiled for it. It never changes.
inline bool unseen_by_thread_sanitizer() noexcept {
#if defined(ANYPLACE_HAS_SANITIZER_HOOKS)
  return __builtin_expect(&__tsan_acquire != nullptr && &__tsan_release != nullptr, 0);
#else
  return false;
#endif
}

/// Everything that this thread did before happens before what a thread does after acquire_from_sanitizer() of the same
/// address.
inline void release_to_sanitizer([[maybe_unused]] const volatile void* tag) noexcept {
#if defined(ANYPLACE_HAS_SANITIZER_HOOKS)
  if (__builtin_expect(&__tsan_release != nullptr, 0)) __tsan_release(const_cast<void*>(tag));
#endif
}

/// Tells ThreadSanitizer that what came before the releases of `tag` is visible to this thread from here on.
inline void acquire_from_sanitizer([[maybe_unused]] const volatile void* tag) noexcept {
#if defined(ANYPLACE_HAS_SANITIZER_HOOKS)
  if (__builtin_expect(&__tsan_acquire != nullptr, 0)) __tsan_acquire(const_cast<void*>(tag));
#endif
}

}  // namespace anyplace::backend
