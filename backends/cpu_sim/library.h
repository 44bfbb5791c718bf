// SPDX-License-Identifier: Apache-2.0
//
// A Library is a module's shared object, loaded from bytes. It is unloaded when its last reference is dropped, which a
// queued launch may hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ref.h"

namespace anyplace::cpu_sim {

class Library final : public RefCounted<Library> {
 public:
  /// Loads the library and runs its constructors. Throws Failure(INVALID_IMAGE) with the reason.
  static Ref<Library> load(const void* image, std::uint64_t bytes);

  /// Returns a function that this library itself defines and exports; null for any other name, also for functions of
  /// the libraries that it depends on.
  void* function(const char* name) const noexcept;
  /// Returns the bytes of data that this library itself defines and exports; empty if there is none of that name.
  std::span<const std::byte> data(const char* name) const noexcept;

  /// Returns what dlopen returned.
  std::uint64_t native() const noexcept { return reinterpret_cast<std::uintptr_t>(handle_); }

 private:
  friend class RefCounted<Library>;
  explicit Library(void* handle) noexcept : handle_(handle) {}
  ~Library();

  void* const handle_;
};

}  // namespace anyplace::cpu_sim
