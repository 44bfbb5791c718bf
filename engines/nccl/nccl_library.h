// SPDX-License-Identifier: Apache-2.0
//
// NCCL's interface (libnccl.so.2), which RCCL (librccl.so.1) has with the same names: as much as is called, declared by
// its published reference (NVIDIA Collective Communication Library documentation, API). Opened at run time.
#pragma once

#include <cstddef>
#include <string>

namespace anyplace::nccl {

/// A Flavor has what differs between the two engines that are built of this source.
struct Flavor {
  const char* engine;
  const char* backend;
  const char* library;
  const char* package;
};
#if defined(ANYPLACE_ENGINE_IS_RCCL)
inline constexpr Flavor flavor{"rccl", "hip", "librccl.so.1", "AMD: apt-get install rccl; Debian: librccl1"};
#else
inline constexpr Flavor flavor{"nccl", "cuda", "libnccl.so.2", "NVIDIA: apt-get install libnccl2"};
#endif

struct NcclComm;  // ncclComm
struct NcclUniqueId {
  char internal[128];
};

enum NcclResult : int {
  nccl_success = 0,
  nccl_unhandled_cuda_error = 1,
  nccl_system_error = 2,
  nccl_internal_error = 3,
  nccl_invalid_argument = 4,
  nccl_invalid_usage = 5,
  nccl_remote_error = 6,
  nccl_in_progress = 7,
};
enum NcclType : int {
  nccl_int8 = 0,
  nccl_uint8 = 1,
  nccl_int32 = 2,
  nccl_uint32 = 3,
  nccl_int64 = 4,
  nccl_uint64 = 5,
  nccl_float16 = 6,
  nccl_float32 = 7,
  nccl_float64 = 8,
  nccl_bfloat16 = 9,
};
enum NcclOp : int { nccl_sum = 0, nccl_prod = 1, nccl_max = 2, nccl_min = 3, nccl_avg = 4 };

// X(name, 1 if the library has to have it, result, parameters). 21000 is 2.10.0, since which there are bfloat16 and
// avg. ncclCommSplit came with 2.18.1, so a split finds out whether it is there.
inline constexpr int nccl_least_version = 21000;
#define ANYPLACE_NCCL_ENTRIES(X)                                                                                  \
  X(ncclGetVersion, 1, int, (int* version))                                                                       \
  X(ncclGetUniqueId, 1, int, (NcclUniqueId * id))                                                                 \
  X(ncclCommInitRank, 1, int, (NcclComm * *comm, int size, NcclUniqueId id, int rank))                            \
  X(ncclCommDestroy, 1, int, (NcclComm * comm))                                                                   \
  X(ncclCommAbort, 1, int, (NcclComm * comm))                                                                     \
  X(ncclCommGetAsyncError, 1, int, (NcclComm * comm, int* error))                                                 \
  X(ncclGetErrorString, 1, const char*, (int error))                                                              \
  X(ncclGetLastError, 0, const char*, (NcclComm * comm))                                                          \
  X(ncclCommSplit, 0, int, (NcclComm * comm, int color, int key, NcclComm** out, void* config))                   \
  X(ncclCommCount, 1, int, (NcclComm * comm, int* size))                                                          \
  X(ncclCommUserRank, 1, int, (NcclComm * comm, int* rank))                                                       \
  X(ncclGroupStart, 1, int, ())                                                                                   \
  X(ncclGroupEnd, 1, int, ())                                                                                     \
  X(ncclAllReduce, 1, int,                                                                                        \
    (const void* source, void* destination, std::size_t count, int type, int op, NcclComm* comm, void* stream))   \
  X(ncclReduce, 1, int,                                                                                           \
    (const void* source, void* destination, std::size_t count, int type, int op, int root, NcclComm* comm,        \
     void* stream))                                                                                               \
  X(ncclBroadcast, 1, int,                                                                                        \
    (const void* source, void* destination, std::size_t count, int type, int root, NcclComm* comm, void* stream)) \
  X(ncclAllGather, 1, int,                                                                                        \
    (const void* source, void* destination, std::size_t count, int type, NcclComm* comm, void* stream))           \
  X(ncclReduceScatter, 1, int,                                                                                    \
    (const void* source, void* destination, std::size_t count, int type, int op, NcclComm* comm, void* stream))   \
  X(ncclSend, 1, int, (const void* source, std::size_t count, int type, int peer, NcclComm* comm, void* stream))  \
  X(ncclRecv, 1, int, (void* destination, std::size_t count, int type, int peer, NcclComm* comm, void* stream))

struct NcclLibrary {
  std::string path;
  int version = 0;
#define ANYPLACE_NCCL_MEMBER(name, required, result, parameters) result(*name) parameters = nullptr;
  ANYPLACE_NCCL_ENTRIES(ANYPLACE_NCCL_MEMBER)
#undef ANYPLACE_NCCL_MEMBER
};

/// Returns "2.21.5" for 22105.
std::string version_text(int version);
/// The library, null until it was opened. It is written once, by the first open_nccl() that succeeds.
extern const NcclLibrary* nccl;
/// Opens the library unless that was done. Returns false if there is none that can be used; then `reason` says why.
/// Throws bad_alloc.
bool open_nccl(std::string& reason);

}  // namespace anyplace::nccl
