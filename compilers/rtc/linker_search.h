// SPDX-License-Identifier: Apache-2.0
// Finds the file that the dynamic linker would take for a library, without loading it: a compiler's library is large,
// and a kernel that is in the cache needs none.
#pragma once

#include <string>

namespace anyplace::compilers {

/// The path of the library that dlopen(name) would load, as far as folders tell: one that the process has loaded, then
/// LD_LIBRARY_PATH and the linker's own folders, then those of /etc/ld.so.conf. "" if there is none in them; dlopen may
/// know of more.
std::string find_library(const std::string& name);

/// Whether the file is a shared object for this machine.
bool is_library(const std::string& path);

}  // namespace anyplace::compilers
