// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "device.h"
#include "handle.h"

struct ur_context_handle_t_ : anyplace_ur::HandleBase {
  explicit ur_context_handle_t_(std::vector<ur_device_handle_t> list) : devices(std::move(list)) {}
  /// Calls the deleters, the last one first.
  ~ur_context_handle_t_();

  bool has(ur_device_handle_t device) const noexcept;
  void add_deleter(ur_context_extended_deleter_t deleter, void* user_data);

  const std::vector<ur_device_handle_t> devices;

 private:
  std::mutex mutex_;
  std::vector<std::pair<ur_context_extended_deleter_t, void*>> deleters_;
};
