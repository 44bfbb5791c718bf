// SPDX-License-Identifier: Apache-2.0
//
// The listeners: up to one tool of each kind, which stays, and the program's own listeners, which come and go. The
// state that each thread has for its annotations is here, too.
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

/// A thread's state for its annotations. It is made when the thread annotates for the first time while somebody
/// listens, and freed when the thread ends.
struct AnnotatingThread {
  std::uint64_t number = 0;  ///< counts threads from 1, never reused
  std::uint64_t system_number = 0;
  std::uint32_t generation = 0;  ///< the generation (annotation_generation()) in which the depths were counted
  bool inside = false;           ///< the thread is in a listener's function
  std::array<std::int32_t, max_domains> depths{};
};

/// Whether annotations reach no listener: in the child of a fork, and at exit.
bool annotations_silent() noexcept;
/// Whether the calling thread is in a listener's function.
bool inside_listener() noexcept;
/// The calling thread's state, with depths of this generation. Null if nobody is to hear the annotation: nobody
/// listens, the thread is in a listener's function or ending, the process is silent, or there is no memory. Looks for
/// tools if that hasn't been done.
AnnotatingThread* annotating_thread() noexcept;
/// The calling thread's state, made if need be; null if the thread is ending or there is no memory.
AnnotatingThread* calling_thread() noexcept;
/// The number of times that somebody began to listen after nobody did. Depths of an earlier generation don't count.
std::uint32_t annotation_generation() noexcept;

/// The tool of a kind; null if there is none.
std::atomic<VendorListener*>& vendor_slot(std::size_t kind) noexcept;
/// Called in a catch block when the tool threw: it is called no more.
void drop_vendor(std::size_t kind, VendorListener& listener) noexcept;
/// Makes the tool hear annotations from now on.
void add_vendor(std::size_t kind, VendorListener& listener);

/// Counts a listener that stays until the process ends and that others than tell_listeners() call.
void add_permanent_listener() noexcept;

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

/// Calls the function of each of the program's own listeners, and tells the layers. The kind, one of
/// ANYPLACE_ANNOTATION_* (anyplace/backend/layer.h), says which function it is.
void tell_listeners(AnnotatingThread& thread, std::uint32_t kind, const annotate::Event& event) noexcept;

}  // namespace anyplace::detail
