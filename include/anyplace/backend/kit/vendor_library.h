// SPDX-License-Identifier: Apache-2.0
//
// VendorLibrary: the vendor's driver library, opened at run time, so that a machine without it gets a reason instead of
// a link error. It is never closed, because its threads and exit handlers live in it. The backend says what to do about
// a library that is missing, too old or incomplete.
#pragma once

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "../device_backend.h"
#include "shortage.h"

namespace anyplace::backend {

/// How a table of entries asks for a function: an OPTIONAL one may be missing and is then null, and its capability
/// absent.
enum class Need {
  REQUIRED,  ///< without it the library is too old
  OPTIONAL,  ///< it may be missing
};

/// A vendor's library that was opened, if it is there. It is never closed.
class VendorLibrary {
 public:
  VendorLibrary() = default;
  /// `name` is the name by which it was opened.
  VendorLibrary(void* handle, const char* name) noexcept : handle_(handle), name_(name) {}

  /// Opens a library. The result is empty where it can't be opened; `reason` is then the linker's. Throws OUT_OF_MEMORY
  /// for a shortage, which says nothing about the library.
  static VendorLibrary open(const char* name, std::string& reason) {
    errno = 0;
    void* const handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const int error = errno;
    if (handle != nullptr) return {handle, name};
    const char* const said = dlerror();
    reason = said == nullptr ? "no reason given" : said;
    if (const int shortage = linker_shortage(error, said); shortage != 0) {
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                    std::string(name) + " can't be opened for now: " + std::strerror(shortage) + " (" + reason + ")",
                    shortage, "dlopen");
    }
    return {};
  }
  /// A library that this process has already loaded; empty if it hasn't.
  static VendorLibrary loaded(const char* name) noexcept {
    return {dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD), name};
  }
  /// Whether it is there.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// The function that the library exports under that name; null if there is none.
  void* find(const char* exported) const noexcept { return dlsym(handle_, exported); }
  /// Reads the function of that name; null if there is none.
  template <class Function>
  void read(const char* exported, Function& out) const noexcept {
    out = reinterpret_cast<Function>(find(exported));
  }
  /// The path of the file that the linker found; its name if the linker doesn't tell.
  std::string path() const {
    const link_map* map = nullptr;
    if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || *map->l_name == '\0') return name_;
    return map->l_name;
  }

 private:
  void* handle_ = nullptr;
  const char* name_ = "";
};

}  // namespace anyplace::backend
