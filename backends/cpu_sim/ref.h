// SPDX-License-Identifier: Apache-2.0
//
// This is intrusive reference counting, for objects that queued commands, handles and other objects share.
//
// Invariant: the thread that drops the last reference sees everything that was done under the earlier ones, and deletes
// the object. That may run code of the user's (a kernel's release function, a module's destructors), so no lock is held
// while a Ref is destroyed.
#pragma once

#include <anyplace/backend/thread_sanitizer.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace anyplace::cpu_sim {

/// RefCounted is the base of a shared object. It starts with one reference, which belongs to the code that made it.
template <class T>
class RefCounted {
 public:
  RefCounted(const RefCounted&) = delete;  // Others hold its address.
  RefCounted& operator=(const RefCounted&) = delete;

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    backend::release_to_sanitizer(this);
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    backend::acquire_from_sanitizer(this);
    delete static_cast<T*>(this);
  }
  /// Whether the caller's reference is the only one, so that nobody else can get one. What was done under the others is
  /// then seen.
  bool is_unshared() const noexcept { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;

 private:
  std::atomic<std::uint32_t> references_{1};
};

/// A Ref owns one reference, or none.
template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  /// Takes over the reference that the caller holds.
  static Ref adopt(T* object) noexcept { return Ref(object); }
  /// Adds a reference to an object that the caller keeps alive during the call.
  static Ref share(T& object) noexcept {
    object.retain();
    return Ref(&object);
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) object_->release();
  }

  T* get() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  /// Gives the reference to the caller.
  T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(T* object) noexcept : object_(object) {}
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(new T(std::forward<Args>(args)...));
}

}  // namespace anyplace::cpu_sim
