// SPDX-License-Identifier: Apache-2.0
//
// The cache of kernels that were compiled while a program ran (compile.h): what is in it, whether it is good, and an
// end of it. `anyplace cache` is a command for the same. docs/kernels.md says where it is and which variables it
// follows.
//
// Compilations use the cache by themselves, also while a function here runs: an entry may come or go at any time.
// Every function may be called from any thread, and reads the environment at each call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export.h"

namespace anyplace::kernel_cache {

/// The folder that images are kept in; "" if there is none: problem() says why.
ANYPLACE_API std::string folder();

/// Why no images are kept: the cache is off, ANYPLACE_CACHE is no absolute path, the folder is none or can't be made,
/// others could write there or replace a folder above it (docs/places.md#trust), or the process runs with raised
/// privileges. "" if images are kept.
ANYPLACE_API std::string problem();

/// Which variables' values aren't followed, where images are kept all the same: an ANYPLACE_CACHE_BYTES that is no
/// size, for which the default is taken, and an ANYPLACE_CACHE_SHARED that is no absolute path or isn't trusted. A line
/// each, and "" if there is none.
ANYPLACE_API std::string warning();

/// An image that is kept.
struct Entry {
  std::string path;          ///< the file that it is in
  std::uint64_t bytes = 0;   ///< of the file
  std::int64_t used_ns = 0;  ///< when it was last used: nanoseconds since 1970
  std::string source;        ///< CompileOptions::name; this and what follows is "" if the entry can't be read
  std::string compiler;      ///< "nvrtc"
  std::string format;        ///< "ptx"
  std::string architecture;  ///< "sm_80"; may be empty
  std::string problem;       ///< why the entry won't be used, and is compiled anew; "" if it is good
};
/// All entries, the most recently used first. Reads and checks each.
ANYPLACE_API std::vector<Entry> entries();

/// Deletes all entries, and what processes that were killed have left. Returns how many entries are gone. Throws
/// backend_failed, with the reason, if something can't be deleted.
ANYPLACE_API std::uint64_t clear();

}  // namespace anyplace::kernel_cache
