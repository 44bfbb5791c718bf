// SPDX-License-Identifier: Apache-2.0
//
// Context: one Level Zero driver and the one ze_context_handle_t that all its devices share here, so that an event or
// host memory of one is good for all. Made at first use and never before.
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

  /// Makes it unless that was done. Throws.
  ze_context_handle_t get() {
    const ze_context_handle_t made = native_.load(std::memory_order_acquire);
    return made != nullptr ? made : make();
  }
  /// Null if there is none yet: for what ends things.
  ze_context_handle_t get_or_null() const noexcept { return native_.load(std::memory_order_acquire); }

  /// Whether immediate command lists keep their order by themselves. Found out by the version, and by asking: once a
  /// list was refused for it, no more.
  bool has_in_order_lists() const noexcept { return in_order_.load(std::memory_order_relaxed); }
  /// False if the order was insisted on (ANYPLACE_LEVELZERO_IN_ORDER=1).
  bool give_up_in_order_lists() noexcept;

  void close(FirstFailure& failure) noexcept;

 private:
  ze_context_handle_t make();

  const ze_driver_handle_t driver_;
  const ze_api_version_t version_;
  bool insists_ = false;
  std::atomic<bool> in_order_;
  std::mutex mutex_;  // guards the making; Level Zero is called under it
  std::atomic<ze_context_handle_t> native_{nullptr};
};

}  // namespace anyplace::levelzero
