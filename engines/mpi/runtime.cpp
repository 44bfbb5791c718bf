// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <string>

namespace anyplace::mpi {
namespace {

constinit Runtime only;

constexpr const char* ended_text =
    "the program has called MPI_Finalize, after which nothing of MPI can be used\ncall it when communicators aren't "
    "used any more, or leave it to anyplace\nsee docs/ranks.md";
constexpr const char* one_thread_text =
    "MPI was initialised for calls of one thread alone\ninitialise it with MPI_Init_thread and MPI_THREAD_MULTIPLE, "
    "or leave that to anyplace\nsee docs/ranks.md";

/// MPI calls this when MPI_COMM_SELF is duplicated: the attribute isn't copied to the duplicate.
int copy_nothing(MpiHandle /*comm*/, int /*key*/, void* /*extra*/, void* /*in*/, void* /*out*/, int* flag) noexcept {
  *flag = 0;
  return mpi_success;
}

int tell_of_the_end(MpiHandle /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) noexcept {
  only.over.store(true, std::memory_order_release);
  only.host->ended(only.host->context, ended_text);
  return mpi_success;
}

}  // namespace

Runtime& runtime() noexcept { return only; }

anyplace_status Runtime::outcome(int code) const noexcept {
  if (code == mpi_success) return ANYPLACE_STATUS_OK;
  char text[mpi_text_room] = {};
  int length = 0;
  mpi->Error_string(code, text, &length);
  host->leave_message(host->context, code, "MPI", text);
  return ANYPLACE_STATUS_BACKEND_FAILED;
}

anyplace_status Runtime::refuse(anyplace_status status, const char* text) const noexcept {
  host->leave_message(host->context, 0, nullptr, text);
  return status;
}

anyplace_status Runtime::open(anyplace_engine_library& out) {
  std::string reason;
  if (!open_mpi_library(mpi, reason)) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason.c_str());
  out.path = mpi->path.c_str();
  out.version = mpi->version.c_str();
  return ANYPLACE_STATUS_OK;
}

bool Runtime::allows_others() noexcept {
  if (begun.load(std::memory_order_acquire)) return multiple.load(std::memory_order_relaxed);
  int initialized = 0, finalized = 0, provided = 0;
  mpi->Initialized(&initialized);
  mpi->Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return true;
  return mpi->Query_thread(&provided) == mpi_success && provided >= mpi_thread_multiple;
}

anyplace_status Runtime::begin() noexcept {
  int initialized = 0, finalized = 0, provided = 0;
  mpi->Finalized(&finalized);
  if (finalized != 0) return refuse(ANYPLACE_STATUS_SHUT_DOWN, ended_text);
  mpi->Initialized(&initialized);
  const int code = initialized != 0 ? mpi->Query_thread(&provided)
                                    : mpi->Init_thread(nullptr, nullptr, mpi_thread_multiple, &provided);
  if (code != mpi_success) return outcome(code);
  begun_here = begun_here || initialized == 0;
  if (provided < mpi_thread_serialized) return refuse(ANYPLACE_STATUS_UNSUPPORTED, one_thread_text);
  multiple.store(provided >= mpi_thread_multiple, std::memory_order_relaxed);
  if (const int failed = make_world(); failed != mpi_success) return outcome(failed);
  if (!make_own_ops(*mpi, own_ops)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "MPI_Op_create failed");
  begun.store(true, std::memory_order_release);
  return ANYPLACE_STATUS_OK;
}

int Runtime::make_world() noexcept {
  cuda_aware = mpi->Query_cuda_support != nullptr && mpi->Query_cuda_support() == 1;
  int key = 0;
  int code = mpi->Comm_dup(mpi->comm_world, &world);
  if (code == mpi_success) code = mpi->Comm_rank(mpi->comm_world, &world_rank);
  if (code == mpi_success) code = mpi->Comm_size(mpi->comm_world, &world_size);
  if (code == mpi_success) code = mpi->Comm_set_errhandler(world, mpi->errors_return);
  if (code == mpi_success) code = mpi->Comm_create_keyval(copy_nothing, tell_of_the_end, &key, nullptr);
  if (code == mpi_success) code = mpi->Comm_set_attr(mpi->comm_self, key, nullptr);
  return code;
}

}  // namespace anyplace::mpi
