// SPDX-License-Identifier: Apache-2.0
//
// Context: a Level Zero driver and the ze_context_handle_t that all its devices share, so that events and host memory
// of one device can be used with all of them. The context is made at its first use.
#pragma once

#include <atomic>
#include <mutex>

#include "driver.h"
#include "error.h"

namespace anyplace::levelzero {

class Context {
 public:
  Context(ze_driver_handle_t driver, ze_api_version_t version);
  Context(const Context&) = delete;  // it owns the context
  Context& operator=(const Context&) = delete;

  ze_driver_handle_t driver() const noexcept { return driver_; }
  ze_api_version_t version() const noexcept { return version_; }
  bool has_extension(const char* name) const;

  /// The context, which the first call makes. Throws.
  ze_context_handle_t get() {
    const ze_context_handle_t made = native_.load(std::memory_order_acquire);
    return made != nullptr ? made : make();
  }
  /// The context, or null if it wasn't made yet, for code that ends something.
  ze_context_handle_t get_or_null() const noexcept { return native_.load(std::memory_order_acquire); }

  /// Whether immediate command lists keep their commands in order. ANYPLACE_LEVELZERO_IN_ORDER says so, else the
  /// driver's version, until the driver refuses to make such a list.
  bool has_in_order_lists() const noexcept { return in_order_.load(std::memory_order_relaxed); }
  /// Called when the driver refused an in-order list. Returns false if the user insists on such lists
  /// (ANYPLACE_LEVELZERO_IN_ORDER=1).
  bool give_up_in_order_lists() noexcept;

  void close(FirstFailure& failure) noexcept;

 private:
  ze_context_handle_t make();

  const ze_driver_handle_t driver_;
  const ze_api_version_t version_;
  bool insists_ = false;
  std::atomic<bool> in_order_;
  std::mutex mutex_;  // serialises making the context; Level Zero is called under it
  std::atomic<ze_context_handle_t> native_{nullptr};
};

}  // namespace anyplace::levelzero
