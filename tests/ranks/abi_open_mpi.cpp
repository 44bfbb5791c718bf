// SPDX-License-Identifier: Apache-2.0
// Our declarations beside those of Open MPI's header.
#include <mpi.h>

#include <catch2/catch.hpp>
#include <string>

#include "mpi/mpi_library.h"
#include "ranks/abi_compare.h"

namespace abi_open_mpi {

using namespace anyplace::mpi;

#define COMPARE_MPI(name, parameters)                                                                        \
  static_assert(abi_test::SameFunction<MpiHandle, decltype(MpiLibrary::name), decltype(&MPI_##name)>::value, \
                "MPI_" #name);
ANYPLACE_MPI_ENTRIES(COMPARE_MPI)
#undef COMPARE_MPI
static_assert(MPI_SUCCESS == mpi_success && MPI_UNDEFINED == mpi_undefined);
static_assert(MPI_THREAD_SERIALIZED == mpi_thread_serialized && MPI_THREAD_MULTIPLE == mpi_thread_multiple);
static_assert(MPI_MAX_ERROR_STRING <= mpi_text_room && MPI_MAX_LIBRARY_VERSION_STRING <= mpi_text_room);

#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED(...) TEXT_OF(__VA_ARGS__)

TEST_CASE("Given Open MPI's header then its handles are the objects that are looked for") {
  CHECK(reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE) == open_mpi_abi.in_place);
  CHECK(reinterpret_cast<std::uintptr_t>(MPI_STATUS_IGNORE) == open_mpi_abi.status_ignore);
  const auto names = [](const char* expansion, const char* object) {
    INFO(expansion);
    return std::string(expansion).find(std::string(object)) != std::string::npos;
  };
  CHECK(names(EXPANDED(MPI_COMM_WORLD), "ompi_mpi_comm_world"));
  CHECK(names(EXPANDED(MPI_COMM_SELF), "ompi_mpi_comm_self"));
  CHECK(names(EXPANDED(MPI_COMM_NULL), "ompi_mpi_comm_null"));
  CHECK(names(EXPANDED(MPI_REQUEST_NULL), "ompi_request_null"));
  CHECK(names(EXPANDED(MPI_ERRORS_RETURN), "ompi_mpi_errors_return"));
  CHECK(names(EXPANDED(MPI_MAX), "ompi_mpi_op_max"));
  CHECK(names(EXPANDED(MPI_MIN), "ompi_mpi_op_min"));
  CHECK(names(EXPANDED(MPI_SUM), "ompi_mpi_op_sum"));
  CHECK(names(EXPANDED(MPI_PROD), "ompi_mpi_op_prod"));
  CHECK(names(EXPANDED(MPI_BYTE), "ompi_mpi_byte"));
  CHECK(names(EXPANDED(MPI_FLOAT), "ompi_mpi_float"));
  CHECK(names(EXPANDED(MPI_DOUBLE), "ompi_mpi_double"));
  CHECK(names(EXPANDED(MPI_C_FLOAT_COMPLEX), "ompi_mpi_c_float_complex"));
  CHECK(names(EXPANDED(MPI_C_DOUBLE_COMPLEX), "ompi_mpi_c_double_complex"));
  CHECK(names(EXPANDED(MPI_INT8_T), "ompi_mpi_int8_t"));
  CHECK(names(EXPANDED(MPI_INT16_T), "ompi_mpi_int16_t"));
  CHECK(names(EXPANDED(MPI_INT32_T), "ompi_mpi_int32_t"));
  CHECK(names(EXPANDED(MPI_INT64_T), "ompi_mpi_int64_t"));
  CHECK(names(EXPANDED(MPI_UINT8_T), "ompi_mpi_uint8_t"));
  CHECK(names(EXPANDED(MPI_UINT16_T), "ompi_mpi_uint16_t"));
  CHECK(names(EXPANDED(MPI_UINT32_T), "ompi_mpi_uint32_t"));
  CHECK(names(EXPANDED(MPI_UINT64_T), "ompi_mpi_uint64_t"));
}

}  // namespace abi_open_mpi
