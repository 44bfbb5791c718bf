// SPDX-License-Identifier: Apache-2.0
//
// Loads one plugin file: checks it, opens it, calls its entry, checks what that filled. A plugin that is refused stays
// open, since code of it may be running; but nothing of it is called any more.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/error.h"
#include "backend.h"

namespace anyplace::detail {

struct LoadResult {
  ErrorCode code = ErrorCode::ok;  ///< ok: accepted
  std::string reason;
  std::int32_t device_count = 0;
};

/// Fills backend.table from the plugin backend.path; name, path and host are set. The backend must never be destroyed,
/// whatever the result: the plugin keeps its host. The caller makes sure that one file is loaded once.
LoadResult load_plugin(Backend& backend);

}  // namespace anyplace::detail
