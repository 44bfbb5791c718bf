// SPDX-License-Identifier: Apache-2.0
#include "file_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "address_range.h"
#include "backing_file.h"
#include "failure.h"

namespace anyplace::cpu_sim {

FileMemory FileMemory::take(std::uint64_t bytes) {
  BackingFile& file = BackingFile::get();
  if (!file.exists()) fail(ANYPLACE_STATUS_UNSUPPORTED, file.why_not());
  FileMemory taken;
  const std::uint64_t room = whole_pages(bytes);
  taken.address = take_addresses(room, block_alignment(room, page_bytes()));
  int error = taken.address == 0 ? errno : file.reserve(taken.address, room);
  if (error == 0) {
    try {
      taken.run = {file.place(taken.address, room), room};
    } catch (...) {
      munmap(backend::from_handle<void>(taken.address), room);
      throw;
    }
    error = file.map(taken.address, taken.run.offset, room);
    if (error != 0) file.give_back(taken.run.offset, room);
  }
  if (error == 0) return taken;
  if (taken.address != 0) munmap(backend::from_handle<void>(taken.address), room);
  throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                "the host didn't map " + std::to_string(room) + " bytes: " + std::strerror(error), error, "mmap");
}

void FileMemory::give_back() const noexcept {
  munmap(backend::from_handle<void>(address), run.bytes);
  BackingFile::get().give_back(run.offset, run.bytes);
}

}  // namespace anyplace::cpu_sim
