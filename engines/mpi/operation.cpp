// SPDX-License-Identifier: Apache-2.0
#include "operation.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "part.h"
#include "pieces.h"
#include "vendor_scope.h"

namespace anyplace::mpi {
namespace {

using engines::bytes_of;
using engines::pointer;
using engines::VendorScope;

/// The tags of MPI's messages. Sends and receives of the application have message_tag, and those that an operation of
/// all ranks is cut into have piece_tag. small_reduce.h uses the small_tags tags from first_small_tag on in turn: so
/// many operations are never under way at a time. MPI has 32767 tags at least.
constexpr int message_tag = 0, piece_tag = 1;
constexpr std::uint64_t first_small_tag = 2, small_tags = 16384;
/// MPI's counts are ints. A power of two is a multiple of what caches and vectors like.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 30;
/// Open MPI's MPI_Iallreduce allocates as much again as it reduces, and touches it for the first time. Pieces of this
/// size reuse that memory, and stay in the cache: 128 MiB of four ranks took three quarters of the time of one piece.
constexpr std::uint64_t piece_bytes = 8 << 20;

/// Returns whether the memory of cpu_sim's devices is kept from the host, which MPI is (docs/cpu_sim.md).
bool cpu_sim_is_protected() noexcept {
  const char* const value = std::getenv("ANYPLACE_CPU_SIM_PROTECT");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

Group::Group(MpiHandle made, int own_rank, int all, const anyplace_engine_device* of)
    : comm(made), rank(own_rank), size(all), small_plan(backend::recursive_doubling(own_rank, all)) {
  device.backend = "";
  if (of == nullptr) return;
  device = *of;
  const std::string_view backend = of->backend;
  is_foreign = backend == "cuda" && runtime().cuda_aware;
  // cpu_sim's devices have the host's memory.
  takes_device_memory = (backend == "cpu_sim" && !cpu_sim_is_protected()) || is_foreign;
}

void Group::describe(anyplace_engine_group& out) noexcept {
  out.flags = takes_device_memory ? std::uint32_t{ANYPLACE_ENGINE_DEVICE_MEMORY} : 0;
  out.rank = rank;
  out.size = size;
  out.at_once_bytes = is_foreign ? 0 : backend::recursive_doubling_bytes;
  out.group = reinterpret_cast<anyplace_group>(this);
}

// ---- Starting ------------------------------------------------------------------------------------------------------

int Operation::start() {
  const anyplace_engine_part& first = parts.front();
  const bool is_one = parts.size() == 1 && first.collective == ANYPLACE_COLLECTIVE_ALL_REDUCE;
  const std::uint64_t bytes = first.count * bytes_of(first.type);
  if (is_one && bytes <= backend::recursive_doubling_bytes && !group.is_foreign) {
    ++group.sequence;
    start_small();
    return mpi_success;
  }
  if (is_one && bytes > piece_bytes) return start_piece();
  for (const anyplace_engine_part& part : parts) {
    if (fits(part, most_elements, group.size)) {
      if (const int code = start_part(part, message_tag); code != mpi_success) return code;
      continue;
    }
    const int tag = engines::is_between_two(part) ? message_tag : piece_tag;
    for (const anyplace_engine_part& piece : in_pieces(part, most_elements, group.rank, group.size)) {
      if (const int code = start_part(piece, tag); code != mpi_success) return code;
    }
  }
  return mpi_success;
}

void Operation::start_small() {
  const anyplace_engine_part& part = parts.front();
  const std::uint64_t bytes = part.count * bytes_of(part.type);
  if (part.source != part.destination) std::memcpy(pointer(part.destination), pointer(part.source), bytes);
  const Runtime& mpi = runtime();
  small.begin({pointer(part.destination), static_cast<int>(part.count), mpi_type(*mpi.mpi, part.type),
               mpi_op(*mpi.mpi, mpi.own_ops, part.type, part.reduction), group.comm,
               static_cast<int>(first_small_tag + group.sequence % small_tags)},
              bytes);
  is_small = true;
}

/// Starts the next piece of a large all_reduce.
int Operation::start_piece() {
  anyplace_engine_part piece = parts.front();
  const std::uint64_t element = bytes_of(piece.type);
  piece.source += begun * element;
  piece.destination += begun * element;
  piece.count = std::min(piece.count - begun, piece_bytes / element);
  begun += piece.count;
  return start_part(piece, message_tag);
}

int Operation::start_part(const anyplace_engine_part& part, int tag) {
  const VendorScope scope(group.device);  // CUDA-aware MPI works in the thread's context
  const MpiLibrary& mpi = *runtime().mpi;
  const auto count = static_cast<int>(part.count);
  const MpiHandle type = mpi_type(mpi, part.type);
  const MpiHandle op = mpi_op(mpi, runtime().own_ops, part.type, part.reduction);
  const MpiHandle comm = group.comm;
  void* const to = pointer(part.destination);
  const bool is_root = group.rank == part.root;
  const void* const plain = pointer(part.source);
  const void* const from = part.source == part.destination ? mpi.in_place() : plain;
  requests.push_back(0);
  MpiHandle* const request = &requests.back();
  switch (part.collective) {
    case ANYPLACE_COLLECTIVE_ALL_REDUCE:
      return mpi.Iallreduce(from, to, count, type, op, comm, request);
    case ANYPLACE_COLLECTIVE_REDUCE:  // only the root may pass MPI_IN_PLACE
      return mpi.Ireduce(is_root ? from : plain, to, count, type, op, part.root, comm, request);
    case ANYPLACE_COLLECTIVE_BROADCAST:
      return mpi.Ibcast(is_root ? pointer(part.source) : to, count, type, part.root, comm, request);
    case ANYPLACE_COLLECTIVE_ALL_GATHER: {
      const anyplace_address own =
          part.destination + static_cast<std::uint64_t>(group.rank) * part.count * bytes_of(part.type);
      return mpi.Iallgather(part.source == own ? mpi.in_place() : plain, count, type, to, count, type, comm, request);
    }
    case ANYPLACE_COLLECTIVE_REDUCE_SCATTER:
      return mpi.Ireduce_scatter_block(plain, to, count, type, op, comm, request);
    case ANYPLACE_COLLECTIVE_ALL_TO_ALL:
      return mpi.Ialltoall(plain, count, type, to, count, type, comm, request);
    case ANYPLACE_COLLECTIVE_SEND:
      return mpi.Isend(plain, count, type, part.root, tag, comm, request);
    case ANYPLACE_COLLECTIVE_RECV:
      return mpi.Irecv(to, count, type, part.root, tag, comm, request);
    default:
      return mpi.Ibarrier(comm, request);
  }
}

// ---- Testing -------------------------------------------------------------------------------------------------------

int Operation::test(std::uint32_t& state) {
  const MpiLibrary& mpi = *runtime().mpi;
  state = ANYPLACE_OPERATION_RUNNING;
  if (is_small) {
    int code = mpi_success;
    if (!small.look(code) || code != mpi_success) return code;
    divide_averages();
    state = ANYPLACE_OPERATION_DONE;
    return code;
  }
  while (true) {
    while (!requests.empty()) {
      int done = 0;
      const int code = mpi.Test(&requests.back(), &done, mpi.status_ignore());
      if (code != mpi_success) return code;
      if (done == 0) {
        if (begun != 0 && begun < parts.front().count) state = ANYPLACE_OPERATION_STARTING;
        return mpi_success;
      }
      requests.pop_back();
    }
    if (begun == 0 || begun == parts.front().count) break;
    if (const int code = start_piece(); code != mpi_success) return code;
  }
  divide_averages();
  state = ANYPLACE_OPERATION_DONE;
  return mpi_success;
}

void Operation::divide_averages() noexcept {
  for (const anyplace_engine_part& part : parts) {
    if (!engines::reduces(part) || part.reduction != ANYPLACE_REDUCTION_AVG) continue;
    if (part.collective == ANYPLACE_COLLECTIVE_REDUCE && group.rank != part.root) continue;
    divide(pointer(part.destination), part.count, part.type, group.size);
  }
}

}  // namespace anyplace::mpi
