// SPDX-License-Identifier: Apache-2.0
//
// Loads one plugin file: checks the file, opens it, calls its entry function, and checks the table that this filled. A
// refused plugin stays open, since its code may be running on threads of its own, but the core doesn't call it any
// more.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/error.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// How far loading a file came before memory or descriptors ran short. The next attempt goes on from there.
struct LoadProgress {
  void* handle = nullptr;  ///< the dynamic linker's handle; null: not opened yet
  bool filled = false;     ///< the entry function succeeded, and the table is good
};

struct LoadResult {
  ErrorCode code = ErrorCode::ok;  ///< ok: accepted
  std::string reason;
  std::int32_t device_count = 0;
  std::string remedy;  ///< the plugin's advice on what to do about it
};

/// Fills backend.table from the plugin at backend.path; name, path and host are set. The backend must never be
/// destroyed, whatever the result, because the plugin keeps a pointer to its host. The caller makes sure that a file is
/// loaded once. Failures that have nothing to do with the file, such as a lack of memory or descriptors, are thrown;
/// the caller then calls this again with the same `progress`.
LoadResult load_plugin(Backend& backend, LoadProgress& progress);

}  // namespace anyplace::detail
