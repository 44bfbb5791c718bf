// SPDX-License-Identifier: Apache-2.0
//
// The general allocators that ours is measured beside: glibc's, and jemalloc's and mimalloc's where they are installed,
// in one process. Opened at run time, so that none of them replaces the process's own malloc. jemalloc's thread-local
// data need GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace bench {

struct HostAllocator {
  std::string name;
  void* (*allocate)(std::size_t) = nullptr;
  void (*deallocate)(void*) = nullptr;
};

/// Those that are here. A line about each that isn't goes to `absent`.
inline std::vector<HostAllocator> host_allocators(std::vector<std::string>& absent) {
  struct Library {
    const char* name;
    const char* file;
    const char* allocate;
    const char* deallocate;
    const char* package;
  };
  std::vector<HostAllocator> found{{"glibc", &std::malloc, &std::free}};
  for (const Library& one : {Library{"jemalloc", "libjemalloc.so.2", "malloc", "free", "libjemalloc2"},
                             Library{"mimalloc", "libmimalloc.so.2.0", "mi_malloc", "mi_free", "libmimalloc2.0"}}) {
    void* const library = dlopen(one.file, RTLD_NOW | RTLD_LOCAL);
    HostAllocator made{one.name};
    if (library != nullptr) {
      made.allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, one.allocate));
      made.deallocate = reinterpret_cast<void (*)(void*)>(dlsym(library, one.deallocate));
    }
    if (made.allocate != nullptr && made.deallocate != nullptr) {
      found.push_back(made);
    } else {
      const char* const reason = dlerror();
      absent.push_back(std::string(one.name) + ": left out (Debian: apt-get install " + one.package + ")" +
                       (reason != nullptr ? std::string(": ") + reason : ""));
    }
  }
  return found;
}

}  // namespace bench
