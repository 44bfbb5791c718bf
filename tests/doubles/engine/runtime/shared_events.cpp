// SPDX-License-Identifier: Apache-2.0
#include "shared_events.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace anyplace::doubles {

struct SharedRecords::Handle {
  uint64_t nonce;
  int pid;
  int file;
};

SharedRecords::Page* SharedRecords::map(int file) {
  void* const page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return page == MAP_FAILED ? nullptr : static_cast<Page*>(page);
}

std::shared_ptr<SharedRecords> SharedRecords::make() {
  const int file = memfd_create("double's event", MFD_CLOEXEC);
  Page* const page = file >= 0 && ftruncate(file, sizeof(Page)) == 0 ? map(file) : nullptr;
  if (page == nullptr) {
    if (file >= 0) close(file);
    return nullptr;
  }
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) nonce = static_cast<uint64_t>(getpid());
  page->nonce.store(nonce);
  return std::shared_ptr<SharedRecords>(new SharedRecords(page, file));
}

std::shared_ptr<SharedRecords> SharedRecords::open(const void* handle) {
  Handle from{};
  std::memcpy(&from, handle, sizeof(from));
  const std::string path = "/proc/" + std::to_string(from.pid) + "/fd/" + std::to_string(from.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat found {};
  const bool fits = file >= 0 && fstat(file, &found) == 0 && found.st_size == sizeof(Page);
  Page* const page = fits ? map(file) : nullptr;
  if (file >= 0) close(file);
  if (page == nullptr) return nullptr;
  std::shared_ptr<SharedRecords> opened(new SharedRecords(page, -1));
  return page->nonce.load() == from.nonce ? opened : nullptr;
}

bool SharedRecords::is_own(const void* handle) {
  Handle from{};
  std::memcpy(&from, handle, sizeof(from));
  return from.pid == getpid();
}

SharedRecords::~SharedRecords() {
  munmap(page_, sizeof(Page));
  if (file_ >= 0) close(file_);
}

void SharedRecords::write_handle(void* handle) const {
  static_assert(sizeof(Handle) <= handle_bytes);
  const Handle written{page_->nonce.load(), getpid(), file_};
  std::memset(handle, 0, handle_bytes);
  std::memcpy(handle, &written, sizeof(written));
}

}  // namespace anyplace::doubles
