// SPDX-License-Identifier: Apache-2.0
#include "shared_memory.h"

#include <anyplace/backend/kit/process_access.h>
#include <anyplace/backend/kit/process_identity.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "address_range.h"
#include "backing_file.h"
#include "failure.h"
#include "protection.h"
#include "virtual_memory.h"

namespace anyplace::cpu_sim {
namespace {

/// This crosses to the other process, with the runs behind it.
struct MemoryBytes {
  std::uint64_t start;
  std::uint64_t inode;
  std::uint32_t pid;
  std::uint32_t descriptor;
  std::uint32_t runs;
  std::uint32_t reserved;
};
constexpr std::size_t most_runs = (ANYPLACE_IPC_BYTES - sizeof(MemoryBytes)) / sizeof(FileRun);

/// The descriptor is closed at the end of the scope.
class File {
 public:
  explicit File(int number) noexcept : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) close(number_);
  }
  int number() const noexcept { return number_; }

 private:
  const int number_;
};

/// Opens the file of the process that exported memory. Throws as ImportedMemory::open.
int open_file(const MemoryBytes& bytes) {
  const std::string process = "process " + std::to_string(bytes.pid);
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%u/fd/%u", bytes.pid, bytes.descriptor);
  const int number = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = errno;
  struct stat found {};
  if (number >= 0 && fstat(number, &found) == 0 && found.st_ino == bytes.inode) return number;
  if (number >= 0) close(number);
  if (backend::is_gone({bytes.pid, bytes.start})) {
    fail(ANYPLACE_STATUS_PEER_GONE, process + ", whose memory it is, has ended");
  }
  if (number >= 0)
    bad_argument("descriptor " + std::to_string(bytes.descriptor) + " of " + process +
                 " is no memory of cpu_sim's any more");
  fail(ANYPLACE_STATUS_BACKEND_FAILED, backend::unopened_text("the memory", bytes.pid, error));
}

}  // namespace

void export_runs(const std::vector<FileRun>& runs, std::uint64_t into, anyplace_ipc_handle& out) {
  if (runs.size() > most_runs) {
    fail(ANYPLACE_STATUS_UNSUPPORTED, "the memory is in " + std::to_string(runs.size()) +
                                          " pieces, and what is shared has " + std::to_string(most_runs) + " at most");
  }
  struct stat file {};
  const BackingFile& backing = BackingFile::get();
  if (fstat(backing.descriptor(), &file) != 0) {
    throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, std::strerror(errno), errno, "fstat");
  }
  const backend::ProcessIdentity self = backend::this_process();
  MemoryBytes bytes{};
  bytes.start = self.start;
  bytes.inode = file.st_ino;
  bytes.pid = self.pid;
  bytes.descriptor = static_cast<std::uint32_t>(backing.descriptor());
  bytes.runs = static_cast<std::uint32_t>(runs.size());
  out.byte_count = static_cast<std::uint32_t>(sizeof(bytes) + runs.size() * sizeof(FileRun));
  std::memcpy(out.bytes, &bytes, sizeof(bytes));
  std::memcpy(out.bytes + sizeof(bytes), runs.data(), runs.size() * sizeof(FileRun));
  out.offset = into;
  out.size = 0;
  for (const FileRun& run : runs) out.size += run.bytes;
}

// ---- Other processes' ----------------------------------------------------------------------------------------------

anyplace_address ImportedMemory::open(std::int32_t device, const anyplace_ipc_handle& handle) {
  MemoryBytes bytes{};
  FileRun runs[most_runs];
  const bool has_head = handle.byte_count >= sizeof(bytes);
  if (has_head) std::memcpy(&bytes, handle.bytes, sizeof(bytes));
  if (!has_head || bytes.runs > most_runs || handle.byte_count != sizeof(bytes) + bytes.runs * sizeof(FileRun)) {
    bad_argument("the bytes are no memory of cpu_sim's");
  }
  std::memcpy(runs, handle.bytes + sizeof(bytes), bytes.runs * sizeof(FileRun));

  const File file(open_file(bytes));
  const auto none = [&] {
    throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                  "the host didn't map " + std::to_string(handle.size) + " bytes of process " +
                      std::to_string(bytes.pid) + ": " + std::strerror(errno),
                  errno, "mmap");
  };
  const anyplace_address address = take_addresses(handle.size, page_granularity);
  if (address == 0) none();
  try {
    anyplace_address at = address;
    for (std::uint32_t i = 0; i < bytes.runs; ++i) {
      if (runs[i].bytes > address + handle.size - at) bad_argument("the bytes are no memory of cpu_sim's");
      void* const wanted = backend::from_handle<void>(at);
      const void* const mapped = mmap(wanted, runs[i].bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                                      file.number(), static_cast<off_t>(runs[i].offset));
      if (mapped == MAP_FAILED) none();
      madvise(wanted, runs[i].bytes, MADV_DONTDUMP);
      at += runs[i].bytes;
    }
    if (Protection* const protection = Protection::get()) {
      protection->cover(device, address, handle.size, "memory_import");
    }
    const std::lock_guard lock(mutex_);
    const auto entry = bytes_.emplace(address, handle.size).first;
    try {
      addresses_.add(address, handle.size, device);
    } catch (...) {
      bytes_.erase(entry);
      throw;
    }
  } catch (...) {
    if (Protection* const protection = Protection::get()) protection->forget(address, handle.size);
    munmap(backend::from_handle<void>(address), handle.size);
    throw;
  }
  return address;
}

void ImportedMemory::close(anyplace_address address) {
  const std::lock_guard lock(mutex_);
  const auto entry = bytes_.find(address);
  if (entry == bytes_.end()) bad_argument("no memory of another process is open at " + hex(address));
  // The same addresses may be given out again as soon as they are unmapped.
  addresses_.remove(address);
  if (Protection* const protection = Protection::get()) protection->forget(address, entry->second);
  munmap(backend::from_handle<void>(address), entry->second);
  bytes_.erase(entry);
}

}  // namespace anyplace::cpu_sim
