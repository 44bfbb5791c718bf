// SPDX-License-Identifier: Apache-2.0
// Our declarations beside those of MPICH's header.
#include <mpi.h>

#include <catch2/catch.hpp>

#include "mpi/mpi_library.h"
#include "ranks/abi_compare.h"

namespace abi_mpich {

using namespace anyplace::mpi;

#define COMPARE_MPI(name, parameters)                                                                        \
  static_assert(abi_test::SameFunction<MpiHandle, decltype(MpiLibrary::name), decltype(&MPI_##name)>::value, \
                "MPI_" #name);
ANYPLACE_MPI_ENTRIES(COMPARE_MPI)
#undef COMPARE_MPI
static_assert(MPI_SUCCESS == mpi_success && MPI_UNDEFINED == mpi_undefined);
static_assert(MPI_THREAD_SERIALIZED == mpi_thread_serialized && MPI_THREAD_MULTIPLE == mpi_thread_multiple);
static_assert(MPI_MAX_ERROR_STRING <= mpi_text_room && MPI_MAX_LIBRARY_VERSION_STRING <= mpi_text_room);

/// The number in our table.
constexpr unsigned number_of(const char* member) {
  const auto same = [](const char* a, const char* b) {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
  };
#define LOOK(name, object, number) \
  if (same(member, #name)) return number;
  ANYPLACE_MPI_HANDLES(LOOK)
#undef LOOK
  return 0;
}

TEST_CASE("Given MPICH's header then its handles are the numbers that are used") {
  CHECK(reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE) == mpich_abi.in_place);
  CHECK(reinterpret_cast<std::uintptr_t>(MPI_STATUS_IGNORE) == mpich_abi.status_ignore);
#define COMPARE(member, name) CHECK(static_cast<unsigned>(name) == number_of(#member))
  COMPARE(comm_world, MPI_COMM_WORLD);
  COMPARE(comm_self, MPI_COMM_SELF);
  COMPARE(comm_null, MPI_COMM_NULL);
  COMPARE(request_null, MPI_REQUEST_NULL);
  COMPARE(errors_return, MPI_ERRORS_RETURN);
  COMPARE(max, MPI_MAX);
  COMPARE(min, MPI_MIN);
  COMPARE(sum, MPI_SUM);
  COMPARE(prod, MPI_PROD);
  COMPARE(byte, MPI_BYTE);
  COMPARE(f32, MPI_FLOAT);
  COMPARE(f64, MPI_DOUBLE);
  COMPARE(c64, MPI_C_FLOAT_COMPLEX);
  COMPARE(c128, MPI_C_DOUBLE_COMPLEX);
  COMPARE(i8, MPI_INT8_T);
  COMPARE(i16, MPI_INT16_T);
  COMPARE(i32, MPI_INT32_T);
  COMPARE(i64, MPI_INT64_T);
  COMPARE(u8, MPI_UINT8_T);
  COMPARE(u16, MPI_UINT16_T);
  COMPARE(u32, MPI_UINT32_T);
  COMPARE(u64, MPI_UINT64_T);
#undef COMPARE
}

}  // namespace abi_mpich
