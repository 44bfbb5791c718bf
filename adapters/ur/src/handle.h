// SPDX-License-Identifier: Apache-2.0
//
// Handles: what all objects of the adapter begin with. The loader finds an object's functions by its first word, which
// points at the adapter's tables; so a handle has no virtual function. References that the application has are counted
// apart from those that other objects hold, since a query tells the former.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include <unified-runtime/ur_ddi.h>

#include "failure.h"

namespace anyplace_ur {

/// All tables of the adapter, filled. The same object at each call.
const ur_dditable_t& tables() noexcept;

class HandleBase {
 public:
  HandleBase() noexcept : table_(&tables()) {}
  HandleBase(const HandleBase&) = delete;  // its address is its identity
  HandleBase& operator=(const HandleBase&) = delete;

  std::uint32_t references() const noexcept { return references_.load(std::memory_order_relaxed); }
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void hold() noexcept { holds_.fetch_add(1, std::memory_order_relaxed); }
  /// True if this was the application's last reference.
  bool drop_reference() noexcept { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  /// True if nothing holds the object any more.
  bool drop_hold() noexcept { return holds_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  const ur_dditable_t* const table_;  ///< the loader reads it: it stays first
  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::uint32_t> holds_{1};  ///< all references of the application together are one
};

/// Gives back a reference of the application's.
template <class Object>
void release_handle(Object* object) {
  if (object->drop_reference() && object->drop_hold()) delete object;
}

/// Holds an object for another one.
template <class Object>
class Hold {
 public:
  Hold() noexcept = default;
  explicit Hold(Object* object) noexcept : object_(object) {
    if (object_ != nullptr) object_->hold();
  }
  Hold(const Hold& other) noexcept : Hold(other.object_) {}
  Hold(Hold&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Hold& operator=(Hold other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Hold() {
    if (object_ != nullptr && object_->drop_hold()) delete object_;
  }

  Object* get() const noexcept { return object_; }
  Object* operator->() const noexcept { return object_; }
  Object& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  Object* object_ = nullptr;
};

}  // namespace anyplace_ur
