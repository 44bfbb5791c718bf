// SPDX-License-Identifier: Apache-2.0
//
// Shortages: memory, descriptors or processes have run out, and may be available a moment later. Such a failure says
// nothing about a file, a driver or a device. A backend reports it as OUT_OF_MEMORY, also from anyplace_backend_entry,
// and doesn't remember it: the core asks again at the next use. Thread-safe; allocates nothing.
#pragma once

#include <cerrno>
#include <cstring>

namespace anyplace::backend {

/// Whether an errno is a shortage.
inline bool is_shortage(int error) noexcept {
  return error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOBUFS;
}

/// Whether a dlopen failed for a shortage, which dlerror() often doesn't say. `error` is the errno after it, which was
/// 0 before; `said` is dlerror()'s text, or null. Returns the errno, or 0 for another reason.
inline int linker_shortage(int error, const char* said) noexcept {
  if (is_shortage(error)) return error;
  if (said == nullptr) return 0;
  // The text is "Cannot allocate memory", and begins with a small letter in messages of the linker's own.
  if (std::strstr(said, "annot allocate") != nullptr) return ENOMEM;
  if (std::strstr(said, "Too many open files in system") != nullptr) return ENFILE;
  return std::strstr(said, "Too many open files") != nullptr ? EMFILE : 0;
}

}  // namespace anyplace::backend
