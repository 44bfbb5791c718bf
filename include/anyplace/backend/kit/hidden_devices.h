// SPDX-License-Identifier: Apache-2.0
//
// Texts about variables of the environment by which a vendor's driver hides devices, for errors about missing devices.
#pragma once

#include <cstdlib>
#include <span>
#include <string>

#include "../device_backend.h"

namespace anyplace::backend {

/// Returns `CUDA_VISIBLE_DEVICES is "0" and may hide it` for each variable that is set, with "; " between them.
inline std::string hidden_devices(std::span<const char* const> variables) {
  std::string text;
  for (const char* const variable : variables) {
    const char* const value = std::getenv(variable);
    if (value == nullptr) continue;
    text += std::string(text.empty() ? "" : "; ") + variable + " is \"" + value + "\" and may hide it";
  }
  return text;
}

/// Leaves that text as device_count's message, which the core adds to errors about devices that aren't there.
inline void note_hidden_devices(const Host& host, std::span<const char* const> variables) {
  const std::string text = hidden_devices(variables);
  if (!text.empty()) host.leave_message(0, "", text.c_str());
}

}  // namespace anyplace::backend
