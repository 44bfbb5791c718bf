// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <anyplace/backend/kit/shortage.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "elf_image.h"
#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

int make_memory_file() {
  constexpr unsigned executable =
      0x0010U;  // Linux has MFD_EXEC since 6.3, and needs it where the default is otherwise.
  int descriptor = memfd_create("anyplace cpu_sim module", MFD_CLOEXEC | executable);
  if (descriptor < 0 && errno == EINVAL) descriptor = memfd_create("anyplace cpu_sim module", MFD_CLOEXEC);
  if (descriptor < 0) {
    throw Failure(backend::is_shortage(errno) ? ANYPLACE_STATUS_OUT_OF_MEMORY : ANYPLACE_STATUS_BACKEND_FAILED,
                  std::string("no file in memory for a module: ") + std::strerror(errno), errno, "memfd_create");
  }
  return descriptor;
}

/// Throws if a file of so many bytes is over the process's limit: writing past that limit raises a signal that ends the
/// process.
void check_file_limit(std::uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes) return;
  throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, "a module of " + std::to_string(bytes) +
                                                    " bytes needs a file in memory, and files of this process are " +
                                                    "limited to " + std::to_string(limit.rlim_cur) +
                                                    " bytes (ulimit -f, RLIMIT_FSIZE)");
}

void write_all(int descriptor, const void* bytes, std::uint64_t count) {
  check_file_limit(count);
  const char* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = write(descriptor, next, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int code = written < 0 ? errno : EIO;
      const bool no_memory = code == ENOMEM || code == ENOSPC;
      throw Failure(no_memory ? ANYPLACE_STATUS_OUT_OF_MEMORY : ANYPLACE_STATUS_BACKEND_FAILED,
                    std::string("a module wasn't written to a file in memory: ") + std::strerror(code), code, "write");
    }
    next += written;
    count -= static_cast<std::uint64_t>(written);
  }
}

/// Returns a path to the descriptor that no earlier library had. The dynamic linker takes two libraries of one path for
/// the same, also when the first was closed but could not be unloaded; and descriptors are reused. So each load spells
/// the folder differently: with "/./" or "//" for each bit of a counter.
std::string unique_path(int descriptor) {
  static std::atomic<std::uint64_t> loads{0};
  std::string path = "/proc/self/fd";
  for (std::uint64_t number = loads.fetch_add(1, std::memory_order_relaxed); number != 0; number >>= 1) {
    path += (number & 1) != 0 ? "/." : "/";
  }
  return path + "/" + std::to_string(descriptor);
}

struct Found {
  void* address = nullptr;  // It is null if this library doesn't define it.
  ElfW(Sym) symbol{};
};

/// Finds a symbol that the library itself defines. dlsym would also find symbols of the libraries that it depends on.
Found find(void* handle, const char* name) noexcept {
  Found result;
  void* const address = dlsym(handle, name);
  link_map* own = nullptr;
  if (address == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &own) != 0) return result;
  Dl_info found{};
  void* detail = nullptr;
  link_map* owner = nullptr;
  if (dladdr1(address, &found, &detail, RTLD_DL_LINKMAP) == 0) return result;
  std::memcpy(&owner, &detail, sizeof(owner));
  if (owner != own || dladdr1(address, &found, &detail, RTLD_DL_SYMENT) == 0 || detail == nullptr) return result;
  std::memcpy(&result.symbol, detail, sizeof(result.symbol));
  result.address = address;
  return result;
}

}  // namespace

Ref<Library> Library::load(const void* image, std::uint64_t bytes) {
  check_shared_object(image, bytes);
  const File file(make_memory_file());
  write_all(file.descriptor(), image, bytes);
  const std::string path = unique_path(file.descriptor());
  errno = 0;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const int error = errno;
    const char* why = dlerror();
    if (const int shortage = backend::linker_shortage(error, why); shortage != 0) {
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                    std::string("the image can't be loaded for now: ") + std::strerror(shortage) + " (" +
                        (why == nullptr ? "?" : why) + ")",
                    shortage, "dlopen");
    }
    fail(ANYPLACE_STATUS_INVALID_IMAGE, std::string("the image can't be loaded: ") + (why == nullptr ? "?" : why));
  }
  try {
    return Ref<Library>::adopt(new Library(handle));
  } catch (...) {
    dlclose(handle);
    throw;
  }
}

Library::~Library() { dlclose(handle_); }

void* Library::function(const char* name) const noexcept {
  const Found found = find(handle_, name);
  return found.address != nullptr && (found.symbol.st_info & 0xf) == STT_FUNC ? found.address : nullptr;
}

std::span<const std::byte> Library::data(const char* name) const noexcept {
  const Found found = find(handle_, name);
  if (found.address == nullptr || (found.symbol.st_info & 0xf) != STT_OBJECT) return {};
  return {static_cast<const std::byte*>(found.address), found.symbol.st_size};
}

}  // namespace anyplace::cpu_sim
