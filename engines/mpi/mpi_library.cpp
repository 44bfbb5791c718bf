// SPDX-License-Identifier: Apache-2.0
#include "mpi_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace anyplace::mpi {
namespace {

struct Candidate {
  const char* file;
  bool is_open_mpi;
};
constexpr Candidate open_mpi{open_mpi_file, true};
constexpr Candidate mpich{"libmpi.so.12", false};
constexpr Candidate debian_mpich{"libmpich.so.12", false};

/// Returns the libraries to try, the launcher's first: with the other one the process would start alone, in a world of
/// its own.
std::vector<Candidate> candidates() {
  const bool by_mpich = std::getenv("PMI_RANK") != nullptr && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;
  if (by_mpich) return {mpich, debian_mpich, open_mpi};
  return {open_mpi, mpich, debian_mpich};
}

std::string path_of(void* handle, const char* otherwise) {
  const link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || *map->l_name == '\0') return otherwise;
  return map->l_name;
}

/// Returns the address of an object of Open MPI's. A program that is linked with MPI may have the object in its own
/// memory, by a copy relocation, and the library then uses that one; so the process is asked before the library.
MpiHandle object_address(void* handle, const char* name) noexcept {
  void* const first = dlsym(RTLD_DEFAULT, name);
  return reinterpret_cast<std::uintptr_t>(first != nullptr ? first : dlsym(handle, name));
}

/// Open MPI's handles are its objects' addresses, MPICH's are numbers.
bool read_handles(void* handle, MpiLibrary& library, std::string& missing) {
#define ANYPLACE_MPI_READ(member, object, number)                                                 \
  library.member = library.abi.is_open_mpi ? object_address(handle, #object) : MpiHandle{number}; \
  if (library.member == 0) missing = #object;
  ANYPLACE_MPI_HANDLES(ANYPLACE_MPI_READ)
#undef ANYPLACE_MPI_READ
  return missing.empty();
}

bool read_entries(void* handle, MpiLibrary& library, std::string& missing) {
#define ANYPLACE_MPI_READ(name, parameters)                                             \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "MPI_" #name)); \
  if (library.name == nullptr) missing = "MPI_" #name;
  ANYPLACE_MPI_ENTRIES(ANYPLACE_MPI_READ)
#undef ANYPLACE_MPI_READ
  return missing.empty();
}

std::unique_ptr<MpiLibrary> open_candidate(const Candidate& candidate, std::string& reason) {
  // Open MPI's own plugins look for its symbols among the global ones where they aren't linked with it.
  void* const handle = dlopen(candidate.file, RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    const char* const said = dlerror();
    reason = said == nullptr ? candidate.file : said;
    return nullptr;
  }
  auto library = std::make_unique<MpiLibrary>();
  library->abi = candidate.is_open_mpi ? open_mpi_abi : mpich_abi;
  library->path = path_of(handle, candidate.file);
  std::string missing;
  if (!read_entries(handle, *library, missing) || !read_handles(handle, *library, missing)) {
    reason = library->path + " lacks " + missing + ": it is older than MPI 3.0, or another library";
    return nullptr;
  }
  std::vector<char> text(mpi_text_room);
  int length = 0;
  if (library->Get_library_version(text.data(), &length) == mpi_success) {
    const std::string_view whole(text.data());
    library->version = whole.substr(0, whole.find_first_of(",\n"));
  }
  library->Query_cuda_support = reinterpret_cast<int (*)()>(dlsym(handle, "MPIX_Query_cuda_support"));
  return library;
}

constinit std::mutex opening;  // libraries are opened under it

}  // namespace

bool open_mpi_library(const MpiLibrary*& library, std::string& reason) {
  const std::lock_guard lock(opening);
  if (library != nullptr) return true;
  std::string reasons;
  for (const Candidate& candidate : candidates()) {
    std::string why;
    if (std::unique_ptr<MpiLibrary> opened = open_candidate(candidate, why)) {
      library = opened.release();  // never freed: it is called until the process has ended
      return true;
    }
    reasons += (reasons.empty() ? "" : "; ") + why;
  }
  reason = reasons + "; Debian: apt-get install libopenmpi3 openmpi-bin, or libmpich12 mpich";
  return false;
}

}  // namespace anyplace::mpi
