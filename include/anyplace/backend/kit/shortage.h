// SPDX-License-Identifier: Apache-2.0
//
// What has run out and may be there again a moment later: memory, descriptors, processes. A failure for want of one of
// them says nothing about a file, a driver or a device. A backend reports it as OUT_OF_MEMORY, from its entry too, and
// keeps nothing of it: the core asks again at the next use. Any thread; allocates nothing.
#pragma once

#include <cerrno>
#include <cstring>

namespace anyplace::backend {

/// Of an errno.
inline bool is_shortage(int error) noexcept {
  return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOBUFS;
}

/// The same, of a dlopen that failed, whose own account often leaves the reason out: `error` is what it left in errno,
/// which was 0 before, `said` what dlerror() gave, or null. Returns the errno; 0 if it was something else.
inline int linker_shortage(int error, const char* said) noexcept {
  if (is_shortage(error)) return error;
  if (said == nullptr) return 0;
  // "Cannot allocate memory"; with a small letter in texts of the linker's own.
  if (std::strstr(said, "annot allocate") != nullptr) return ENOMEM;
  if (std::strstr(said, "Too many open files in system") != nullptr) return ENFILE;
  return std::strstr(said, "Too many open files") != nullptr ? EMFILE : 0;
}

}  // namespace anyplace::backend
