// SPDX-License-Identifier: Apache-2.0
#include "life.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "control.h"

namespace anyplace::doubles {
namespace {

std::atomic<Phase> the_phase{Phase::uninitialised};
void (*end_of_double)() = nullptr;
// Not in memory that the dynamic linker frees when a thread ends, which ThreadSanitizer takes for a race with its use.
constinit thread_local const char* entry_of_thread __attribute__((tls_model("initial-exec"))) = "";

void at_exit() {
  Phase ready = Phase::ready;
  if (the_phase.compare_exchange_strong(ready, Phase::ended)) end_of_double();
}

void in_forked_child() {
  Phase ready = Phase::ready;
  the_phase.compare_exchange_strong(ready, Phase::forked);
}

}  // namespace

Phase phase() noexcept { return the_phase.load(std::memory_order_acquire); }

int begin(const std::function<int()>& may_begin, const std::function<void()>& make, void (*end)()) {
  static std::mutex& mutex = *new std::mutex;  // one call begins
  const std::lock_guard lock(mutex);
  if (const int result = may_begin(); result != 0 || phase() != Phase::uninitialised) return result;
  make();
  end_of_double = end;
  std::atexit(at_exit);
  pthread_atfork(nullptr, nullptr, in_forked_child);
  the_phase.store(Phase::ready, std::memory_order_release);
  return 0;
}

MisuseLog& misuses() {
  static MisuseLog& log = *new MisuseLog;
  return log;
}

void set_entry(const char* symbol) noexcept { entry_of_thread = symbol; }

void misused(const char* text) { misuses().add(std::string(without_version(entry_of_thread)) + ' ' + text); }

CallBook& make_call_book(std::vector<const char*> symbols, const Settings& settings) {
  CallBook& book = *new CallBook(std::move(symbols));
  std::string wrong;
  if (!book.read_failures(settings.failures, wrong)) {
    variables().misconfigured("FAIL", wrong, "not entry:nth:code or entry:nth:code:always");
  }
  if (settings.log) misuses().print_from_now_on();
  return book;
}

}  // namespace anyplace::doubles
