// SPDX-License-Identifier: Apache-2.0
//
// DeviceBase: one Level Zero device with its context; the classes that keep something for a device are built on it. A
// result that means a loss loses the device for good, and then only calls that end something are still made.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "anyplace/backend/device_backend.h"
#include "context.h"
#include "error.h"

namespace anyplace::levelzero {

/// The properties that the backend needs itself. They are queried once, without a context.
struct Facts {
  ze_device_properties_t properties{};
  std::uint32_t ip_version = 0;  ///< packed as the extension does it; 0 if the driver doesn't tell
  ze_device_compute_properties_t compute{};
  ze_device_memory_access_properties_t access{};
  std::uint64_t total_memory = ANYPLACE_UNKNOWN;
  double ticks_per_second = 0;  ///< of the global timestamp; 0 if the device doesn't tell
  unsigned timestamp_bits = 64;
  bool has_queue_group = false;
  std::uint32_t queue_group = 0;  ///< the group that has compute and copies
  std::uint32_t queues = 0;       ///< how many the group has
  std::uint64_t longest_fill_pattern = 1;
  bool shares_memory = false;  ///< whether other processes can share its memory
};

class Ending;

class DeviceBase {
 public:
  DeviceBase(anyplace::backend::Host host, Context& context, ze_device_handle_t native, std::int32_t index);
  DeviceBase(const DeviceBase&) = delete;  // streams and events point at it
  DeviceBase& operator=(const DeviceBase&) = delete;

  const anyplace::backend::Host& host() const noexcept { return host_; }
  ze_device_handle_t native() const noexcept { return native_; }
  std::int32_t index() const noexcept { return index_; }
  /// Such as "levelzero:0".
  std::string place() const { return "levelzero:" + std::to_string(index_); }
  const Facts& facts() const noexcept { return facts_; }
  Context& driver_context() const noexcept { return context_; }

  /// The context, which the first call makes. Throws DEVICE_LOST if the device is lost.
  ze_context_handle_t context() {
    require();
    return context_.get();
  }
  ze_context_handle_t context_or_null() const noexcept { return context_.get_or_null(); }

  // -- Results of calls.
  void check(ze_result_t result, const char* call) {
    if (result != ZE_RESULT_SUCCESS) [[unlikely]]
      fail(result, call);
  }
  /// Of calls that end something; it is made before them.
  Ending ending() noexcept;
  /// Throws. A result that means a loss loses the device.
  [[noreturn]] void fail(ze_result_t result, const char* call);
  /// Throws for a call that involved another device: finds out which of the two is lost, if one is.
  [[noreturn]] void fail_with(ze_result_t result, const char* call, DeviceBase& other);

  // -- Loss.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != ZE_RESULT_SUCCESS; }
  /// The result with which it was lost; success if it wasn't.
  ze_result_t loss() const noexcept { return lost_.load(std::memory_order_acquire); }
  /// Throws BACKEND_FAILED if another device that takes part in a call of this one is lost, which doesn't lose this
  /// device.
  void require_other(const DeviceBase& other);
  /// Marks the device as lost, for good. The first result is kept.
  void lose(ze_result_t result) noexcept;
  /// Throws DEVICE_LOST if the device is lost.
  void require() {
    if (lost()) [[unlikely]]
      fail(lost_.load(std::memory_order_relaxed), "the device failed earlier");
  }
  /// Asks the driver, and marks the device as lost if the driver says so.
  void check_health() noexcept;

 protected:
  ~DeviceBase() = default;
  /// Called once, when the device is lost: releases everything that waits for it.
  virtual void on_loss() noexcept = 0;

 private:
  const anyplace::backend::Host host_;
  Context& context_;
  const ze_device_handle_t native_;
  const std::int32_t index_;
  const Facts facts_;
  std::atomic<ze_result_t> lost_{ZE_RESULT_SUCCESS};
};

/// Judges calls that end something. On a device that was lost before them a failure says nothing; a loss that another
/// thread has noted meanwhile is thrown, because nobody may have been told of it.
class Ending {
 public:
  void check(ze_result_t result, const char* call) const {
    if (result != ZE_RESULT_SUCCESS && !was_lost_) device_.fail(result, call);
  }

 private:
  friend class DeviceBase;
  explicit Ending(DeviceBase& device) noexcept : device_(device), was_lost_(device.lost()) {}

  DeviceBase& device_;
  const bool was_lost_;
};

inline Ending DeviceBase::ending() noexcept { return Ending(*this); }

Facts read_facts(ze_device_handle_t device, const Context& context);
/// The uuid in the order of the driver's bytes: "8680a056-0800-0000-0300-000000000000".
std::string uuid_text(const ze_device_uuid_t& uuid);

}  // namespace anyplace::levelzero
