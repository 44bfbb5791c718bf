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

/// How far loading a file came before something ran out. It goes on from there.
struct LoadProgress {
  void* handle = nullptr;  ///< the dynamic linker's; null: not opened yet
  bool filled = false;     ///< the entry succeeded, and the table is in order
};

struct LoadResult {
  ErrorCode code = ErrorCode::ok;  ///< ok: accepted
  std::string reason;
  std::int32_t device_count = 0;
  std::string remedy;  ///< what the plugin says to do about it
};

/// Fills backend.table from the plugin backend.path; name, path and host are set. The backend must never be destroyed,
/// whatever the result: the plugin keeps its host. The caller makes sure that one file is loaded once. What has nothing
/// to do with the file, as a want of memory or descriptors, is thrown: then it is called again with the same
/// `progress`.
LoadResult load_plugin(Backend& backend, LoadProgress& progress);

}  // namespace anyplace::detail
