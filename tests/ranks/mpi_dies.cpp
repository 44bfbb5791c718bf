// SPDX-License-Identifier: Apache-2.0
// Open MPI in which rank 1 is killed in MPI_Comm_split, once all ranks have come there. Its file has the library's
// name, so that it is opened in its place, and everything else is the library's, with which it is linked.
#include <dlfcn.h>
#include <signal.h>

#include <cstdlib>
#include <string>

extern "C" __attribute__((visibility("default"))) int MPI_Comm_split(void* comm, int color, int key, void** out) {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && rank == std::string("1")) ::raise(SIGKILL);
  using Split = int (*)(void*, int, int, void**);
  void* const library = ::dlopen(RANKS_OPEN_MPI, RTLD_NOW);
  return reinterpret_cast<Split>(::dlsym(library, "MPI_Comm_split"))(comm, color, key, out);
}
