// SPDX-License-Identifier: Apache-2.0
//
// MpiLibrary has the functions and constants of the MPI library that is installed, which is opened at run time.
//
// MPI fixes an interface for the compiler, not for the linker: its handles are addresses of exported objects in Open
// MPI and integers in MPICH. So there is a table for each of the two: Open MPI 2 to 5 (libmpi.so.40) and MPICH's ABI
// (libmpi.so.12, libmpich.so.12), which Intel MPI and MVAPICH2 have, too. tests/ranks compares both with the packages'
// headers. A handle is 64 bits here. MPICH's handles, which are ints, are its lower half, in memory and in registers,
// on the little-endian machines that anyplace is built for.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace anyplace::mpi {

static_assert(std::endian::native == std::endian::little && sizeof(void*) == 8,
              "an MPI handle that is an int is passed as the lower half of 64 bits");

using MpiHandle = std::uint64_t;
/// MPI_User_function.
using MpiUserFunction = void (*)(void* in, void* inout, int* count, MpiHandle* type);
/// MPI_Comm_copy_attr_function and MPI_Comm_delete_attr_function.
using MpiCopyAttribute = int (*)(MpiHandle comm, int key, void* extra, void* in, void* out, int* flag);
using MpiDeleteAttribute = int (*)(MpiHandle comm, int key, void* value, void* extra);

// X(name without MPI_, parameters). All return an int, MPI_SUCCESS or an error's code.
#define ANYPLACE_MPI_ENTRIES(X)                                                                                    \
  X(Initialized, (int* flag))                                                                                      \
  X(Finalized, (int* flag))                                                                                        \
  X(Init_thread, (int* argc, char*** argv, int required, int* provided))                                           \
  X(Query_thread, (int* provided))                                                                                 \
  X(Finalize, ())                                                                                                  \
  X(Abort, (MpiHandle comm, int code))                                                                             \
  X(Get_library_version, (char* version, int* length))                                                             \
  X(Error_string, (int code, char* text, int* length))                                                             \
  X(Comm_rank, (MpiHandle comm, int* rank))                                                                        \
  X(Comm_size, (MpiHandle comm, int* size))                                                                        \
  X(Comm_dup, (MpiHandle comm, MpiHandle * out))                                                                   \
  X(Comm_split, (MpiHandle comm, int color, int key, MpiHandle* out))                                              \
  X(Comm_free, (MpiHandle * comm))                                                                                 \
  X(Comm_set_errhandler, (MpiHandle comm, MpiHandle handler))                                                      \
  X(Comm_create_keyval, (MpiCopyAttribute copy, MpiDeleteAttribute remove, int* key, void* extra))                 \
  X(Comm_set_attr, (MpiHandle comm, int key, void* value))                                                         \
  X(Op_create, (MpiUserFunction function, int commute, MpiHandle* out))                                            \
  X(Reduce_local, (const void* in, void* inout, int count, MpiHandle type, MpiHandle op))                          \
  X(Test, (MpiHandle * request, int* flag, void* status))                                                          \
  X(Ibarrier, (MpiHandle comm, MpiHandle * request))                                                               \
  X(Ibcast, (void* data, int count, MpiHandle type, int root, MpiHandle comm, MpiHandle* request))                 \
  X(Iallreduce, (const void* source, void* destination, int count, MpiHandle type, MpiHandle op, MpiHandle comm,   \
                 MpiHandle* request))                                                                              \
  X(Ireduce, (const void* source, void* destination, int count, MpiHandle type, MpiHandle op, int root,            \
              MpiHandle comm, MpiHandle* request))                                                                 \
  X(Iallgather, (const void* source, int sent, MpiHandle source_type, void* destination, int received,             \
                 MpiHandle destination_type, MpiHandle comm, MpiHandle* request))                                  \
  X(Ireduce_scatter_block, (const void* source, void* destination, int count, MpiHandle type, MpiHandle op,        \
                            MpiHandle comm, MpiHandle* request))                                                   \
  X(Ialltoall, (const void* source, int sent, MpiHandle source_type, void* destination, int received,              \
                MpiHandle destination_type, MpiHandle comm, MpiHandle* request))                                   \
  X(Isend, (const void* source, int count, MpiHandle type, int peer, int tag, MpiHandle comm, MpiHandle* request)) \
  X(Irecv, (void* destination, int count, MpiHandle type, int peer, int tag, MpiHandle comm, MpiHandle* request))

// X(member, object that Open MPI exports, number that MPICH has).
#define ANYPLACE_MPI_HANDLES(X)                        \
  X(comm_world, ompi_mpi_comm_world, 0x44000000)       \
  X(comm_self, ompi_mpi_comm_self, 0x44000001)         \
  X(comm_null, ompi_mpi_comm_null, 0x04000000)         \
  X(request_null, ompi_request_null, 0x2c000000)       \
  X(errors_return, ompi_mpi_errors_return, 0x54000001) \
  X(max, ompi_mpi_op_max, 0x58000001)                  \
  X(min, ompi_mpi_op_min, 0x58000002)                  \
  X(sum, ompi_mpi_op_sum, 0x58000003)                  \
  X(prod, ompi_mpi_op_prod, 0x58000004)                \
  X(byte, ompi_mpi_byte, 0x4c00010d)                   \
  X(f32, ompi_mpi_float, 0x4c00040a)                   \
  X(f64, ompi_mpi_double, 0x4c00080b)                  \
  X(c64, ompi_mpi_c_float_complex, 0x4c000840)         \
  X(c128, ompi_mpi_c_double_complex, 0x4c001041)       \
  X(i8, ompi_mpi_int8_t, 0x4c000137)                   \
  X(i16, ompi_mpi_int16_t, 0x4c000238)                 \
  X(i32, ompi_mpi_int32_t, 0x4c000439)                 \
  X(i64, ompi_mpi_int64_t, 0x4c00083a)                 \
  X(u8, ompi_mpi_uint8_t, 0x4c00013b)                  \
  X(u16, ompi_mpi_uint16_t, 0x4c00023c)                \
  X(u32, ompi_mpi_uint32_t, 0x4c00043d)                \
  X(u64, ompi_mpi_uint64_t, 0x4c00083e)

// These constants are the same numbers in both. MPI_STATUS_IGNORE and MPI_IN_PLACE are addresses, which differ.
inline constexpr int mpi_success = 0;
inline constexpr int mpi_undefined = -32766;
inline constexpr int mpi_thread_serialized = 2;
inline constexpr int mpi_thread_multiple = 3;
/// The room that the texts of both fit into: MPICH's are longer.
inline constexpr int mpi_text_room = 8192;

struct MpiAbi {
  bool is_open_mpi = false;
  std::uintptr_t in_place = 0;       ///< MPI_IN_PLACE
  std::uintptr_t status_ignore = 0;  ///< MPI_STATUS_IGNORE
};
inline constexpr MpiAbi open_mpi_abi{true, 1, 0};
inline constexpr MpiAbi mpich_abi{false, static_cast<std::uintptr_t>(-1), 1};

struct MpiLibrary {
  MpiAbi abi;
  std::string path;
  std::string version;
  int (*Query_cuda_support)() = nullptr;  ///< MPIX_Query_cuda_support, once MPI is initialised; may be null
#define ANYPLACE_MPI_MEMBER(name, parameters) int(*name) parameters = nullptr;
  ANYPLACE_MPI_ENTRIES(ANYPLACE_MPI_MEMBER)
#undef ANYPLACE_MPI_MEMBER
#define ANYPLACE_MPI_MEMBER(name, object, number) MpiHandle name = 0;
  ANYPLACE_MPI_HANDLES(ANYPLACE_MPI_MEMBER)
#undef ANYPLACE_MPI_MEMBER

  void* in_place() const noexcept { return reinterpret_cast<void*>(abi.in_place); }
  void* status_ignore() const noexcept { return reinterpret_cast<void*>(abi.status_ignore); }
};

/// Open MPI's file, which is tried first unless MPICH's launcher has started the process.
inline constexpr const char* open_mpi_file = "libmpi.so.40";
/// Opens an MPI library and sets `library` to it, which is done once: nothing happens if it is set. Returns false if
/// there is none that can be used; then `reason` says why. Throws bad_alloc.
bool open_mpi_library(const MpiLibrary*& library, std::string& reason);

}  // namespace anyplace::mpi
