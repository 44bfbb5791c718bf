// SPDX-License-Identifier: Apache-2.0
#include "failing.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

// What the names below hide. Under a sanitizer that is the sanitizer's, which keeps books of its own. This file itself
// is compiled without one: it is called before the sanitizer has begun.
#ifdef FAILING_UNDER_SANITIZER
#define SYSTEM(name) __interceptor_##name
#else
#define SYSTEM(name) __libc_##name
#endif
extern "C" {
void* SYSTEM(malloc)(std::size_t bytes);
void* SYSTEM(calloc)(std::size_t count, std::size_t bytes);
void* SYSTEM(realloc)(void* old, std::size_t bytes);
void* SYSTEM(memalign)(std::size_t alignment, std::size_t bytes);
}

namespace failing {
namespace {

constinit std::atomic<bool> armed{false};
constinit std::atomic<Kind> kind_armed{Kind::allocations};
constinit std::atomic<long> calls{0}, failures{0}, first_failure{0}, failure_count{0};
constinit std::atomic<bool> shown{false};

void show() noexcept {
  const bool was_armed = armed.exchange(false);  // what this allocates isn't counted
  void* frames[48];
  const int depth = backtrace(frames, 48);
  static const char line[] = "-- failed here:\n";
  static_cast<void>(!write(2, line, sizeof(line) - 1));
  backtrace_symbols_fd(frames, depth, 2);
  armed.store(was_armed);
}

bool fails(Kind kind) noexcept {
  if (!armed.load(std::memory_order_relaxed) || kind_armed.load(std::memory_order_relaxed) != kind) return false;
  const long call = calls.fetch_add(1, std::memory_order_relaxed) + 1;
  const long first = first_failure.load(std::memory_order_relaxed);
  const long how_many = failure_count.load(std::memory_order_relaxed);
  if (call < first || (how_many != for_good && call - first >= how_many)) return false;
  failures.fetch_add(1, std::memory_order_relaxed);
  if (shown.load(std::memory_order_relaxed)) show();
  return true;
}

/// Whether a std::thread is a double's own (tests/doubles): what a vendor does without threads isn't asked here. Its
/// argument is an object of a class that the library has which starts it.
bool is_of_double(void* argument) noexcept {
  Dl_info info{};
  return argument != nullptr && dladdr(*static_cast<void**>(argument), &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "/doubles/") != nullptr;
}

bool allocation_fails() noexcept {
  if (!fails(Kind::allocations)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

void arm(Kind kind, long first, long how_many) noexcept {
  kind_armed = kind;
  calls = 0;
  failures = 0;
  first_failure = first;
  failure_count = how_many;
  armed = true;
}

void disarm() noexcept { armed = false; }
long made() noexcept { return calls; }
long failed() noexcept { return failures; }

void show_where() {
  void* frames[1];
  backtrace(frames, 1);  // loads what it needs
  shown = true;
}

}  // namespace failing

// ---- What is called instead of the system's ------------------------------------------------------------------------

using failing::allocation_fails;

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t bytes) { return allocation_fails() ? nullptr : SYSTEM(malloc)(bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return allocation_fails() ? nullptr : SYSTEM(calloc)(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  return bytes != 0 && allocation_fails() ? nullptr : SYSTEM(realloc)(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return allocation_fails() ? nullptr : SYSTEM(memalign)(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** made, std::size_t alignment, std::size_t bytes) {
  void* const memory = memalign(alignment, bytes);
  if (memory == nullptr) return ENOMEM;
  *made = memory;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (!failing::is_of_double(argument) && failing::fails(failing::Kind::threads)) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, body, argument);
}

}  // extern "C"
#pragma GCC visibility pop

#ifdef FAILING_UNDER_SANITIZER
#pragma GCC visibility push(default)
/// LeakSanitizer knows what a thread's variables are kept in by the dynamic linker's being its caller, which it isn't
/// here.
extern "C" const char* __lsan_default_suppressions() { return "leak:ld-linux-x86-64\n"; }
#pragma GCC visibility pop

// The sanitizers' operator new doesn't come by malloc.
namespace {

void* make(std::size_t bytes) {
  if (void* const memory = malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* make(std::size_t bytes, std::align_val_t alignment) {
  if (void* const memory = memalign(static_cast<std::size_t>(alignment), bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#pragma GCC visibility push(default)
void* operator new(std::size_t bytes) { return make(bytes); }
void* operator new[](std::size_t bytes) { return make(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes == 0 ? 1 : bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes == 0 ? 1 : bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return make(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return make(bytes, alignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memalign(static_cast<std::size_t>(alignment), bytes);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, std::size_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }
#pragma GCC visibility pop
#endif
