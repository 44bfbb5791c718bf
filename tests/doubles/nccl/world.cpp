// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace anyplace::doubles::nccl {

World::World(const std::string& name, int rank, int size) : name_(name) {
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  // Pages of it take no memory before they are used, and are 0 then.
  if (::ftruncate(file, sizeof(Shared)) == 0) {
    void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) shared_ = static_cast<Shared*>(memory);
  }
  ::close(file);
  if (shared_ == nullptr) return;
  shared_->size = size;
  int nobody = 0;
  taken_ = !shared_->seats[rank].process.compare_exchange_strong(nobody, ::getpid());
  if (!taken_) shared_->opened.fetch_add(1);
}

World::~World() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

void World::unlink() const noexcept { ::shm_unlink(name_.c_str()); }

}  // namespace anyplace::doubles::nccl
