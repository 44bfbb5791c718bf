// SPDX-License-Identifier: Apache-2.0
//
// A shared object of a module, loaded from bytes. It is unloaded with its last reference, which may be a queued
// launch's.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_LIBRARY_H
#define ANYPLACE_BACKENDS_CPU_SIM_LIBRARY_H

#include <cstddef>
#include <cstdint>
#include <span>

#include "ref.h"

namespace anyplace::cpu_sim {

class Library final : public RefCounted<Library> {
 public:
  /// Runs the library's constructors. Throws Failure(INVALID_IMAGE) with the reason.
  static Ref<Library> load(const void* image, uint64_t bytes);

  /// A function that this library itself defines and exports; null for anything else, also for what the libraries
  /// define that it depends on.
  void* function(const char* name) const noexcept;
  /// The bytes of data that this library itself defines and exports; empty if there is none of that name.
  std::span<const std::byte> data(const char* name) const noexcept;

 private:
  friend class RefCounted<Library>;
  explicit Library(void* handle) noexcept : handle_(handle) {}
  ~Library();

  void* const handle_;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_LIBRARY_H
