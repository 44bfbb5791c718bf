// SPDX-License-Identifier: Apache-2.0
//
// The engine mpi, as the core calls it: operations are started and tested. The core decides who waits for them and for
// how long, and what becomes of a failure.
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "anyplace/backend/engine.h"
#include "anyplace/version.h"
#include "operation.h"
#include "part.h"

namespace anyplace::mpi {
namespace {

using engines::guarded;

Group& of(anyplace_group group) noexcept { return *reinterpret_cast<Group*>(group); }
Operation& operation_of(anyplace_operation operation) noexcept { return *reinterpret_cast<Operation*>(operation); }

anyplace_status library(void* /*self*/, anyplace_engine_library* out) {
  return guarded([&] { return runtime().open(*out); });
}

// ---- The world -----------------------------------------------------------------------------------------------------

anyplace_status begin(void* /*self*/, anyplace_engine_world* out) {
  return guarded([&] {
    const anyplace_status status = runtime().begin();
    if (status != ANYPLACE_STATUS_OK) return status;
    auto world = std::make_unique<Group>(runtime().world, runtime().world_rank, runtime().world_size, nullptr);
    out->begun_here = runtime().begun_here ? 1 : 0;
    world.release()->describe(out->group);
    return status;
  });
}

anyplace_status finish(void* /*self*/) { return runtime().outcome(runtime().mpi->Finalize()); }

anyplace_status end_all(void* /*self*/, std::int32_t exit_status) {
  return runtime().outcome(runtime().mpi->Abort(runtime().mpi->comm_world, exit_status));
}

anyplace_status may_wait_elsewhere(void* /*self*/, std::int32_t* yes) {
  *yes = runtime().allows_others() ? 1 : 0;
  return ANYPLACE_STATUS_OK;
}

// ---- Groups --------------------------------------------------------------------------------------------------------

/// Makes the group of a communicator that was just made, and hands it out.
anyplace_status hand_out(MpiHandle comm, const anyplace_engine_device* device, anyplace_engine_group* out) {
  const MpiLibrary& mpi = *runtime().mpi;
  int rank = 0, size = 0;
  int code = mpi.Comm_rank(comm, &rank);
  if (code == mpi_success) code = mpi.Comm_size(comm, &size);
  if (code != mpi_success) return runtime().outcome(code);
  std::make_unique<Group>(comm, rank, size, device).release()->describe(*out);
  return ANYPLACE_STATUS_OK;
}

anyplace_status refuse_ranks(const anyplace_engine_group_desc& desc) {
  const std::string size = std::to_string(desc.size);
  const std::string text = "this is rank " + std::to_string(desc.rank) + " of " + size + ", but to MPI it is rank " +
                           std::to_string(runtime().world_rank) + " of " + std::to_string(runtime().world_size) +
                           "\nthe engine mpi has its ranks from MPI's launcher: start the program with mpirun -n " +
                           size + "\nsee docs/ranks.md";
  return runtime().refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, text.c_str());
}

anyplace_status group_create(void* /*self*/, const anyplace_engine_group_desc* desc, anyplace_engine_group* out) {
  return guarded([&]() -> anyplace_status {
    const bool is_given = desc->size >= 0;
    if (is_given && (desc->size != runtime().world_size || desc->rank != runtime().world_rank)) {
      return refuse_ranks(*desc);
    }
    MpiHandle comm = runtime().mpi->comm_null;
    const int code = runtime().mpi->Comm_dup(runtime().world, &comm);
    if (code != mpi_success) return runtime().outcome(code);
    return hand_out(comm, desc->device, out);
  });
}

anyplace_status group_split(void* /*self*/, anyplace_group group, std::int32_t color, std::int32_t key,
                            anyplace_engine_group* out) {
  return guarded([&]() -> anyplace_status {
    MpiHandle comm = runtime().mpi->comm_null;
    const int code = runtime().mpi->Comm_split(of(group).comm, color < 0 ? mpi_undefined : color, key, &comm);
    if (code != mpi_success) return runtime().outcome(code);
    if (comm == runtime().mpi->comm_null) return ANYPLACE_STATUS_OK;
    return hand_out(comm, &of(group).device, out);
  });
}

anyplace_status group_destroy(void* /*self*/, anyplace_group group) {
  const std::unique_ptr<Group> ending(&of(group));
  if (runtime().over.load(std::memory_order_acquire)) return ANYPLACE_STATUS_OK;
  return runtime().outcome(runtime().mpi->Comm_free(&ending->comm));
}

// ---- Operations ----------------------------------------------------------------------------------------------------

anyplace_status operation_start(void* /*self*/, anyplace_group group, const anyplace_engine_part* parts,
                                std::uint32_t count, std::uint32_t stride, anyplace_operation* out) {
  return guarded([&]() -> anyplace_status {
    Group& mine = of(group);
    std::unique_ptr<Operation> operation = std::move(mine.spare);
    if (!operation) operation = std::make_unique<Operation>(mine);
    operation->parts.resize(count);
    for (std::uint32_t i = 0; i < count; ++i) operation->parts[i] = engines::part_of(parts, i, stride);
    // If start() fails, MPI may still write, at any time, to the parts that were started before; so the operation isn't
    // freed then.
    Operation& started = *operation.release();
    const anyplace_status status = runtime().outcome(started.start());
    if (status == ANYPLACE_STATUS_OK) *out = reinterpret_cast<anyplace_operation>(&started);
    return status;
  });
}

anyplace_status operation_test(void* /*self*/, anyplace_operation operation, std::uint32_t* state) {
  return guarded([&]() -> anyplace_status {
    Operation& tested = operation_of(operation);
    if (const int code = tested.test(*state); code != mpi_success) return runtime().outcome(code);
    if (*state != ANYPLACE_OPERATION_DONE) return ANYPLACE_STATUS_OK;
    std::unique_ptr<Operation>& spare = tested.group.spare;
    if (spare) {
      delete &tested;
    } else {
      tested.is_small = false;
      tested.begun = 0;
      spare.reset(&tested);
    }
    return ANYPLACE_STATUS_OK;
  });
}

}  // namespace
}  // namespace anyplace::mpi

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_engine_entry(const anyplace_engine_host* host,
                                                                        anyplace_engine_table* table) {
  using namespace anyplace::mpi;
  runtime().host = host;
  table->struct_size = sizeof(*table);
  table->abi_major = ANYPLACE_ENGINE_ABI_MAJOR;
  table->abi_minor = ANYPLACE_ENGINE_ABI_MINOR;
  table->kind = ANYPLACE_ENGINE_ON_HOST;
  std::strncpy(table->name, "mpi", sizeof(table->name) - 1);
  std::strncpy(table->title, "MPI", sizeof(table->title) - 1);
  std::strncpy(table->version, ANYPLACE_VERSION, sizeof(table->version) - 1);
  std::strncpy(table->description, "MPI's operations that don't block", sizeof(table->description) - 1);
  std::strncpy(table->library_file, open_mpi_file, sizeof(table->library_file) - 1);
  std::strncpy(table->backends, "cpu_sim *", sizeof(table->backends) - 1);
  std::strncpy(table->launcher_variables, "OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK",
               sizeof(table->launcher_variables) - 1);
  table->library = library;
  table->begin = begin;
  table->finish = finish;
  table->end_all = end_all;
  table->may_wait_elsewhere = may_wait_elsewhere;
  table->group_create = group_create;
  table->group_split = group_split;
  table->group_destroy = group_destroy;
  table->operation_start = operation_start;
  table->operation_test = operation_test;
  return ANYPLACE_STATUS_OK;
}
