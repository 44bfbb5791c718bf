// SPDX-License-Identifier: Apache-2.0
//
// A platform: the devices of one backend of anyplace that are offered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <anyplace/device.h>

#include "device.h"
#include "handle.h"

struct ur_platform_handle_t_ : anyplace_ur::HandleBase {
  ur_platform_handle_t_(ur_adapter_handle_t owner, std::string name) : adapter(owner), backend(std::move(name)) {}

  void add(const anyplace::Device& device);
  /// Those of a type; UR_DEVICE_TYPE_DEFAULT gives the first.
  std::vector<ur_device_handle_t> devices(ur_device_type_t type) const;

  const ur_adapter_handle_t adapter;
  const std::string backend;  ///< "cpu_sim"

 private:
  std::vector<std::unique_ptr<ur_device_handle_t_>> devices_;
};
