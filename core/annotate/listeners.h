// SPDX-License-Identifier: Apache-2.0
//
// Who listens: up to one tool of each kind, which stays, and the program's own listeners, which come and go. And what
// each thread knows of its annotations.
//
// A listener's slot counts the calls that are under way; taking the listener away waits until there are none. Calls are
// therefore never made under a lock, and need none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "annotate/registry.h"
#include "annotate/vendor_listener.h"
#include "anyplace/annotate.h"

namespace anyplace::detail {

inline constexpr std::size_t vendor_kinds = 3;
inline constexpr std::size_t max_listeners = 16;
/// The bit of annotate::detail::listeners that is set until tools have been looked for.
inline constexpr std::uint32_t not_looked_for = 1u << 31;

/// What a thread knows of its annotations. Made when it annotates for the first time while somebody listens, and freed
/// when it ends.
struct AnnotatingThread {
  std::uint64_t number = 0;  ///< from 1, never reused
  std::uint64_t system_number = 0;
  std::uint32_t generation = 0;  ///< the depths are of that one
  bool inside = false;           ///< in a listener's function
  std::array<std::int32_t, max_domains> depths{};
};

/// In the child of a fork, and at exit: no call reaches a listener.
bool annotations_silent() noexcept;
/// Whether the thread is in a listener's function.
bool inside_listener() noexcept;
/// The calling thread, with depths that count; null where the annotation isn't to be heard: nobody listens, the thread
/// is in a listener's function or ending, the process is silent, or there is no memory. Looks for tools if that hasn't
/// been done.
AnnotatingThread* annotating_thread() noexcept;
/// The calling thread, made if need be; null if it is ending or there is no memory.
AnnotatingThread* calling_thread() noexcept;
/// Of the last time when somebody began to listen after nobody did: depths that were counted before don't count.
std::uint32_t annotation_generation() noexcept;

/// The tool of a kind; null if there is none.
std::atomic<VendorListener*>& vendor_slot(std::size_t kind) noexcept;
/// Called in a catch block: the tool threw, and is called no more.
void drop_vendor(std::size_t kind, VendorListener& listener) noexcept;
/// From now on the tool hears annotations.
void add_vendor(std::size_t kind, VendorListener& listener);

/// Marks the thread as being in a listener's function, for a scope.
class InsideListener {
 public:
  explicit InsideListener(AnnotatingThread* thread) noexcept : thread_(thread) {
    if (thread_ != nullptr) thread_->inside = true;
  }
  InsideListener(const InsideListener&) = delete;
  InsideListener& operator=(const InsideListener&) = delete;
  ~InsideListener() {
    if (thread_ != nullptr) thread_->inside = false;
  }

 private:
  AnnotatingThread* thread_;
};

/// Calls function(tool, kind) for each tool.
template <class Function>
void each_vendor(const Function& function) noexcept {
  const InsideListener inside(calling_thread());
  for (std::size_t kind = 0; kind < vendor_kinds; ++kind) {
    VendorListener* const listener = vendor_slot(kind).load(std::memory_order_acquire);
    if (listener == nullptr) continue;
    try {
      function(*listener, kind);
    } catch (...) {
      drop_vendor(kind, *listener);
    }
  }
}

/// Whether any tool listens.
bool any_vendor() noexcept;

/// Calls the function of each of the program's own listeners.
void tell_listeners(AnnotatingThread& thread, void (annotate::Listener::*function)(const annotate::Event&),
                    const annotate::Event& event) noexcept;

}  // namespace anyplace::detail
