// SPDX-License-Identifier: Apache-2.0
#include "annotate/listeners.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "annotate/layer_listeners.h"
#include "annotate/libraries.h"
#include "anyplace/backend/layer.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/process.h"
#include "runtime/thread_end.h"

namespace anyplace {
namespace annotate::detail {

constinit std::atomic<std::uint32_t> listeners{anyplace::detail::not_looked_for};

}  // namespace annotate::detail

namespace detail {
namespace {

using annotate::detail::listeners;

using HeardBy = void (annotate::Listener::*)(const annotate::Event&);
/// The function of a kind of annotation.
constexpr std::array<HeardBy, ANYPLACE_ANNOTATION_KINDS> heard_by{
    &annotate::Listener::range_pushed, &annotate::Listener::range_popped, &annotate::Listener::range_started,
    &annotate::Listener::range_ended,  &annotate::Listener::marked,       &annotate::Listener::thread_named};

struct Slot {
  std::atomic<annotate::Listener*> listener{nullptr};
  /// Calls under way, and threads that are about to find out that there is no listener.
  std::atomic<std::uint32_t> calls{0};
  bool taken = false;  ///< guarded by Listening::mutex
};

struct Listening {
  std::mutex mutex;  // guards Slot::taken and the changes of who listens; a leaf
  std::array<Slot, max_listeners> slots;
  std::array<std::atomic<VendorListener*>, vendor_kinds> vendors{};
  /// The vendors, and tools that are called no more. Other threads may still be in a function of theirs, so they are
  /// kept for leak checkers to find.
  std::array<VendorListener*, vendor_kinds> kept{};
  std::atomic<std::uint32_t> generation{0};
  std::atomic<std::uint64_t> threads{0};
  std::atomic<bool> forked{false};
};
constinit NoDestructor<Listening> listening_storage;
Listening& listening() noexcept { return listening_storage.value; }

constinit thread_local AnnotatingThread* this_thread = nullptr;

void forget_thread() noexcept { delete std::exchange(this_thread, nullptr); }
constinit thread_local ThreadEndTask thread_end{forget_thread};

/// Ends annotations in the child of a fork. The threads that held locks, and those of the tools, don't exist there.
void become_silent() noexcept {
  listening().forked.store(true, std::memory_order_relaxed);
  listeners.store(0, std::memory_order_relaxed);
}

/// Counts a further listener. The caller holds the mutex.
void count_one_more() noexcept {
  Listening& all = listening();
  if ((listeners.load(std::memory_order_relaxed) & ~not_looked_for) == 0) {
    all.generation.fetch_add(1, std::memory_order_relaxed);
  }
  listeners.fetch_add(1, std::memory_order_release);
}

AnnotatingThread* make_thread() noexcept {
  if (!at_thread_end(thread_end)) return nullptr;
  auto* const made = new (std::nothrow) AnnotatingThread;
  if (made == nullptr) return nullptr;
  made->number = listening().threads.fetch_add(1, std::memory_order_relaxed) + 1;
  made->system_number = static_cast<std::uint64_t>(syscall(SYS_gettid));
  return this_thread = made;
}

/// Takes `listener` away, and returns when no other thread is in a function of it.
void stop_listening(Slot& slot) noexcept {
  {
    const std::lock_guard lock(listening().mutex);
    slot.listener.store(nullptr, std::memory_order_seq_cst);
    listeners.fetch_sub(1, std::memory_order_relaxed);
  }
  while (slot.calls.load(std::memory_order_seq_cst) != 0) sched_yield();
  const std::lock_guard lock(listening().mutex);
  slot.taken = false;
}

}  // namespace

bool annotations_silent() noexcept { return listening().forked.load(std::memory_order_relaxed) || !process_running(); }

bool inside_listener() noexcept { return this_thread != nullptr && this_thread->inside; }

AnnotatingThread* calling_thread() noexcept { return this_thread != nullptr ? this_thread : make_thread(); }

std::uint32_t annotation_generation() noexcept { return listening().generation.load(std::memory_order_relaxed); }

AnnotatingThread* annotating_thread() noexcept {
  if (annotations_silent()) return nullptr;
  AnnotatingThread* const thread = calling_thread();
  if (thread == nullptr || thread->inside) return nullptr;
  if ((listeners.load(std::memory_order_relaxed) & not_looked_for) != 0) {
    const InsideListener inside(thread);
    look_for_libraries();
  }
  if ((listeners.load(std::memory_order_acquire) & ~not_looked_for) == 0) return nullptr;
  const std::uint32_t generation = annotation_generation();
  if (thread->generation != generation) {
    thread->generation = generation;
    thread->depths.fill(0);
  }
  return thread;
}

void watch_forks_for_annotations() noexcept {
  static const int watched = pthread_atfork(nullptr, nullptr, become_silent);
  static_cast<void>(watched);
}

std::atomic<VendorListener*>& vendor_slot(std::size_t kind) noexcept { return listening().vendors[kind]; }

bool any_vendor() noexcept {
  for (const auto& vendor : listening().vendors) {
    if (vendor.load(std::memory_order_acquire) != nullptr) return true;
  }
  return false;
}

void add_vendor(std::size_t kind, VendorListener& listener) {
  const std::lock_guard lock(listening().mutex);
  count_one_more();
  listening().kept[kind] = &listener;
  vendor_slot(kind).store(&listener, std::memory_order_release);
}

void add_permanent_listener() noexcept {
  const std::lock_guard lock(listening().mutex);
  count_one_more();
}

void drop_vendor(std::size_t kind, VendorListener& listener) noexcept {
  VendorListener* expected = &listener;
  // Several threads may find out at once; one of them reports it.
  if (!vendor_slot(kind).compare_exchange_strong(expected, nullptr)) return;
  listeners.fetch_sub(1, std::memory_order_relaxed);
  note_library_failed(kind);
}

void tell_listeners(AnnotatingThread& thread, std::uint32_t kind, const annotate::Event& event) noexcept {
  const HeardBy function = heard_by[kind];
  for (Slot& slot : listening().slots) {
    if (slot.listener.load(std::memory_order_relaxed) == nullptr) continue;
    // Either stop_listening() sees this call, or this call sees that there is no listener.
    slot.calls.fetch_add(1, std::memory_order_seq_cst);
    if (annotate::Listener* const listener = slot.listener.load(std::memory_order_seq_cst)) {
      const InsideListener inside(&thread);
      const CallbackScope scope;
      try {
        (listener->*function)(event);
      } catch (...) {
        report_current("", "annotate::Listener");
      }
    }
    slot.calls.fetch_sub(1, std::memory_order_release);
  }
  tell_layers(thread, kind, event);
}

}  // namespace detail

namespace annotate {

Listener::~Listener() = default;
void Listener::range_pushed(const Event& /*event*/) {}
void Listener::range_popped(const Event& /*event*/) {}
void Listener::range_started(const Event& /*event*/) {}
void Listener::range_ended(const Event& /*event*/) {}
void Listener::marked(const Event& /*event*/) {}
void Listener::thread_named(const Event& /*event*/) {}

ListenerGuard::ListenerGuard(Listener& listener) : slot_(0) {
  using namespace anyplace::detail;
  constexpr const char* operation = "annotate::ListenerGuard";
  if (anyplace::detail::listening().forked.load(std::memory_order_relaxed)) {
    fail(ErrorCode::forked, "", operation, "annotations are silent in the child of a fork");
  }
  if (inside_listener()) {
    fail(ErrorCode::not_permitted, "", operation, "a listener's function can't begin or end listening");
  }
  watch_forks_for_annotations();
  const std::lock_guard lock(anyplace::detail::listening().mutex);
  for (auto& slot : anyplace::detail::listening().slots) {
    if (!slot.taken) {
      slot.taken = true;
      count_one_more();
      slot.listener.store(&listener, std::memory_order_seq_cst);
      return;
    }
    ++slot_;
  }
  fail(ErrorCode::invalid_argument, "", operation,
       "16 listeners listen already, and there may be no more\nlet one listener hand on what several want to hear\nsee "
       "docs/annotations.md");
}

ListenerGuard::~ListenerGuard() {
  if (anyplace::detail::listening().forked.load(std::memory_order_relaxed)) return;
  anyplace::detail::stop_listening(anyplace::detail::listening().slots[slot_]);
}

}  // namespace annotate
}  // namespace anyplace
