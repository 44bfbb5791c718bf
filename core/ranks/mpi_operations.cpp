// SPDX-License-Identifier: Apache-2.0
// MpiGroup's other half: what a job starts of MPI's, and how it is tested. All of it is under MpiRuntime::Calls.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ranks/mpi_group.h"
#include "ranks/pieces.h"
#include "ranks/vendor_scope.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

/// Tags: of sends and receives, of what an operation of all ranks is cut into, and from `first_small_tag` on of
/// small_reduce.h, as many as operations that are never under way at a time. MPI has 32767 at least.
constexpr int message_tag = 0, piece_tag = 1;
constexpr std::uint64_t first_small_tag = 2, small_tags = 16384;
/// MPI's counts are ints. A multiple of what caches and vectors like.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 30;
/// Open MPI's MPI_Iallreduce allocates as much again as it reduces, and touches it for the first time. Pieces of this
/// size reuse that memory, and stay in the cache: 128 MiB of four ranks took three quarters of the time of one piece.
constexpr std::uint64_t piece_bytes = 8 << 20;

}  // namespace

void MpiGroup::start(MpiJob& job) {
  const bool collective =
      std::any_of(job.parts.begin(), job.parts.end(), [](const Part& part) { return !part.is_between_two(); });
  if (!checks_ || !collective) return start_parts(job);
  bool first = true;
  for (const Part& part : job.parts) {
    if (part.is_between_two()) continue;
    if (first) {
      job.header = {job.header.sequence,
                    part.count,
                    0,
                    part.has_root() ? part.root : 0,
                    static_cast<std::uint8_t>(part.what),
                    static_cast<std::uint8_t>(part.type),
                    static_cast<std::uint8_t>(part.reduces() ? part.reduction : Reduction::sum),
                    0};
    } else {
      job.header.rest = (job.header.rest * 1099511628211u) ^
                        (part.count * 31 + static_cast<std::uint64_t>(part.what) +
                         static_cast<std::uint64_t>(part.type) * 16 + static_cast<std::uint64_t>(part.root) * 256);
    }
    ++job.header.parts;
    first = false;
  }
  job.headers.resize(static_cast<std::size_t>(size()));
  MpiHandle request = 0;
  const MpiLibrary& mpi = runtime_.mpi();
  runtime_.check(mpi.Iallgather(&job.header, sizeof(MpiHeader), mpi.byte, job.headers.data(), sizeof(MpiHeader),
                                mpi.byte, comm_, &request),
                 device().place, "Communicator");
  job.requests.push_back(request);
  job.state = MpiJob::State::checking;
}

void MpiGroup::compare_headers(const MpiJob& job) const {
  const auto named = [](const MpiHeader& header) {
    Part part;
    part.what = static_cast<Collective>(header.what);
    part.type = static_cast<DType>(header.type);
    part.reduction = static_cast<Reduction>(header.reduction);
    part.root = header.root;
    part.count = header.count;
    return describe(part) + (header.parts > 1 ? fmt::format(" and {} more", header.parts - 1) : "");
  };
  for (std::size_t rank = 1; rank < job.headers.size(); ++rank) {
    if (std::memcmp(&job.headers[rank], &job.headers[0], sizeof(MpiHeader)) == 0) continue;
    fail(ErrorCode::invalid_argument, device().place, "Communicator",
         fmt::format("the ranks call different operations: as number {}, rank 0 calls {}, and rank {} calls {}\nall "
                     "ranks call the same ones in the same order\nsee docs/ranks.md",
                     job.headers[0].sequence, named(job.headers[0]), rank, named(job.headers[rank])));
  }
}

void MpiGroup::begin_small(SmallReduce& small, const Part& part, std::uint64_t sequence) const {
  const std::uint64_t bytes = part.count * size_of(part.type);
  if (part.source != part.destination) std::memcpy(pointer(part.destination), pointer(part.source), bytes);
  const MpiLibrary& mpi = runtime_.mpi();
  small.begin({pointer(part.destination), static_cast<int>(part.count), mpi_type(mpi, part.type),
               mpi_op(mpi, runtime_.own_ops(), part.type, part.reduction), comm_,
               static_cast<int>(first_small_tag + sequence % small_tags)},
              bytes);
}

void MpiGroup::start_small(MpiJob& job) {
  job.small = std::make_unique<SmallReduce>(runtime_.mpi(), small_plan_);
  begin_small(*job.small, job.parts.front(), job.header.sequence);
  job.state = MpiJob::State::running;
}

/// The next piece of a large all_reduce.
void MpiGroup::start_piece(MpiJob& job) {
  const VendorScope scope(device());
  Part piece = job.parts.front();
  const std::uint64_t element = size_of(piece.type);
  piece.source += job.begun * element;
  piece.destination += job.begun * element;
  piece.count = std::min(piece.count - job.begun, piece_bytes / element);
  job.begun += piece.count;
  MpiHandle request = 0;
  runtime_.check(start_part(piece, message_tag, &request), device().place, "Communicator");
  job.requests.push_back(request);
  job.state = MpiJob::State::running;
}

void MpiGroup::start_parts(MpiJob& job) {
  const Part& first = job.parts.front();
  const bool is_one = job.parts.size() == 1 && first.what == Collective::all_reduce;
  const std::uint64_t bytes = first.count * size_of(first.type);
  if (is_one && bytes <= small_reduce_bytes && !is_foreign_) return start_small(job);
  if (is_one && bytes > piece_bytes) return start_piece(job);
  const VendorScope scope(device());  // CUDA-aware MPI works in the thread's context
  const auto start_one = [&](const Part& part, int tag) {
    MpiHandle request = 0;
    runtime_.check(start_part(part, tag, &request), device().place, "Communicator");
    job.requests.push_back(request);
  };
  for (const Part& part : job.parts) {
    if (fits(part, most_elements, size())) {
      start_one(part, message_tag);
      continue;
    }
    const int tag = part.is_between_two() ? message_tag : piece_tag;
    for (const Part& piece : in_pieces(part, most_elements, rank(), size())) start_one(piece, tag);
  }
  job.state = MpiJob::State::running;
}

int MpiGroup::start_part(const Part& part, int tag, MpiHandle* request) const noexcept {
  const MpiLibrary& mpi = runtime_.mpi();
  const auto count = static_cast<int>(part.count);
  const MpiHandle type = mpi_type(mpi, part.type);
  const MpiHandle op = mpi_op(mpi, runtime_.own_ops(), part.type, part.reduction);
  void* const to = pointer(part.destination);
  const bool in_place = part.source == part.destination;
  const void* const from = in_place ? mpi.in_place() : pointer(part.source);
  switch (part.what) {
    case Collective::all_reduce:
      return mpi.Iallreduce(from, to, count, type, op, comm_, request);
    case Collective::reduce:  // in place is the root's alone
      return mpi.Ireduce(rank() == part.root ? from : pointer(part.source), to, count, type, op, part.root, comm_,
                         request);
    case Collective::broadcast:
      return mpi.Ibcast(rank() == part.root ? pointer(part.source) : to, count, type, part.root, comm_, request);
    case Collective::all_gather: {
      const anyplace_address own =
          part.destination + static_cast<std::uint64_t>(rank()) * part.count * size_of(part.type);
      return mpi.Iallgather(part.source == own ? mpi.in_place() : pointer(part.source), count, type, to, count, type,
                            comm_, request);
    }
    case Collective::reduce_scatter:
      return mpi.Ireduce_scatter_block(pointer(part.source), to, count, type, op, comm_, request);
    case Collective::all_to_all:
      return mpi.Ialltoall(pointer(part.source), count, type, to, count, type, comm_, request);
    case Collective::send:
      return mpi.Isend(pointer(part.source), count, type, part.root, tag, comm_, request);
    case Collective::recv:
      return mpi.Irecv(to, count, type, part.root, tag, comm_, request);
    case Collective::barrier:
      break;
  }
  return mpi.Ibarrier(comm_, request);
}

/// Whether all that was started is done. Starts the parts of a job that was checked.
bool MpiGroup::test(MpiJob& job) {
  const MpiLibrary& mpi = runtime_.mpi();
  while (true) {
    while (!job.requests.empty()) {
      int done = 0;
      runtime_.check(mpi.Test(&job.requests.back(), &done, mpi.status_ignore()), device().place, "Communicator");
      if (done == 0) break;
      job.requests.pop_back();
    }
    if (!job.requests.empty()) return false;
    if (job.small) {
      int code = mpi_success;
      const bool over = job.small->look(code);
      runtime_.check(code, device().place, "Communicator");
      return over;
    }
    if (job.begun != 0 && job.begun < job.parts.front().count) {
      start_piece(job);
      continue;
    }
    if (job.state != MpiJob::State::checking) return true;
    compare_headers(job);
    start_parts(job);
  }
}

void MpiGroup::divide_average(const Part& part) const noexcept {
  if (!part.reduces() || part.reduction != Reduction::avg) return;
  if (part.what == Collective::reduce && rank() != part.root) return;
  divide(pointer(part.destination), part.count, part.type, size());
}

void MpiGroup::finish(MpiJob& job) const noexcept {
  for (const Part& part : job.parts) divide_average(part);
  job.state = MpiJob::State::done;
  if (job.next) job.next->ready = true;
  job.next.reset();
  runtime_.forget_last(job.stream_id, &job);
}

}  // namespace anyplace::detail
