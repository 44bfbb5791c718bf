// SPDX-License-Identifier: Apache-2.0
//
// The adapter object: one for the process, with the platforms that the settings ask for. It and what it has live until
// the process ends, so that a handle kept past urAdapterRelease never dangles.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "handle.h"
#include "platform.h"

struct ur_adapter_handle_t_ : anyplace_ur::HandleBase {
  /// Finds the devices at the first call. Throws what is wrong with the settings at each: a place that isn't there is
  /// refused with those that are.
  const std::vector<ur_platform_handle_t>& platforms();

 private:
  std::mutex mutex_;
  bool found_ = false;
  std::vector<std::unique_ptr<ur_platform_handle_t_>> owned_;
  std::vector<ur_platform_handle_t> platforms_;
};

namespace anyplace_ur {

ur_adapter_handle_t_& adapter();

}  // namespace anyplace_ur
