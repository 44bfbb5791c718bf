// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

#include "anyplace/stream.h"
#include "memory/address_side.h"
#include "plugins/device_properties.h"
#include "ranks/vendor_scope.h"
#include "runtime/call.h"
#include "runtime/shortage.h"
#include "runtime/switch_variable.h"
#include "streams/captured.h"
#include "streams/event_state.h"
#include "streams/hold.h"

namespace anyplace::detail {
namespace {

constexpr int message_tag = 0;
/// Tags of small_reduce.h: from 1 on, of as many operations as are never under way at a time. MPI has 32767 at least.
constexpr std::uint64_t small_tags = 16384;
/// Open MPI's MPI_Iallreduce allocates as much again as it reduces, and touches it for the first time. Pieces of this
/// size reuse that memory, and stay in the cache: 128 MiB of four ranks took three quarters of the time of one piece.
constexpr std::uint64_t piece_bytes = 8 << 20;
/// How often, and how long, a small job is looked at before the call that submits it returns.
constexpr int looks_at_once = 64;
constexpr std::chrono::microseconds time_at_once{20};

void* pointer(anyplace_address address) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

void help_mpi() noexcept { MpiRuntime::existing()->help(); }

}  // namespace

MpiGroup::MpiGroup(MpiRuntime& runtime, MpiHandle comm, DeviceState& device, int rank, int size,
                   std::chrono::nanoseconds timeout)
    : EngineGroup(device, rank, size, timeout),
      runtime_(runtime),
      comm_(comm),
      checks_(switch_variable("ANYPLACE_COMMUNICATOR_CHECK", false)),
      is_foreign_(device.backend->name == "cuda" && runtime.is_cuda_aware()),
      host_device_(device.backend->name == "cpu_sim" || is_foreign_) {
  runtime.allow(timeout);
}

MpiGroup::~MpiGroup() {
  if (!process_running() || failure()) return;  // a rank may be inside of an operation that never ends
  int finalized = 0;
  runtime_.mpi().Finalized(&finalized);
  if (finalized != 0) return;
  MpiRuntime::Calls calls(runtime_);
  runtime_.mpi().Comm_free(&comm_);
}

void MpiGroup::require(const Part& part, const char* operation) const {
  const auto size = static_cast<std::uint64_t>(this->size());
  const bool of_all = part.what == Collective::all_gather || part.what == Collective::reduce_scatter ||
                      part.what == Collective::all_to_all;
  if (part.count <= INT_MAX && (!of_all || part.count * size <= INT_MAX)) return;
  fail(ErrorCode::unsupported, device().place, operation,
       fmt::format("MPI's counts are ints, and {} elements are more\ncall it for parts of at most {} elements\nsee "
                   "docs/ranks.md",
                   part.count, of_all ? INT_MAX / size : INT_MAX));
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

bool MpiGroup::stages(anyplace_address address) const noexcept {
  return !host_device_ && address != 0 && AddressSide("memory", address, device()).device() != nullptr;
}

anyplace_address MpiGroup::host_memory(MpiJob& job, std::uint64_t bytes) const {
  if (has_capability(device(), Capability::pinned_memory, "Communicator")) {
    job.staged.emplace_back(Device(&device()), bytes);
    return reinterpret_cast<std::uintptr_t>(job.staged.back().data());
  }
  job.staged_plainly.emplace_back(bytes);
  return reinterpret_cast<std::uintptr_t>(job.staged_plainly.back().data());
}

/// Puts the host's memory in place of the device's, and copies what is sent. A destination that is partly kept as it
/// was (all_gather in place) is copied as a whole.
void MpiGroup::stage(MpiJob& job, const Pin<StreamState>& stream, const char* /*operation*/) {
  const StreamView view(stream->id);
  for (Part& part : job.parts) {
    const std::uint64_t sent = part.source_bytes(rank(), size());
    const std::uint64_t received = part.destination_bytes(rank(), size());
    const bool in_place = part.source == part.destination;
    if (sent != 0 && stages(part.source)) {
      const anyplace_address host = host_memory(job, std::max(sent, in_place ? received : 0));
      view.copy(Address(host), Address(part.source), sent);
      if (in_place) part.destination = host;
      part.source = host;
    }
    if (received != 0 && stages(part.destination)) {
      part.destination = host_memory(job, received);
      if (in_place) part.source = part.destination;
    }
  }
}

/// Copies what was received to the device, as work behind the stream's wait.
void MpiGroup::unstage(const MpiJob& job, const std::vector<Part>& parts, StreamView stream) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t received = parts[i].destination_bytes(rank(), size());
    if (received == 0 || job.parts[i].destination == parts[i].destination) continue;
    stream.copy(Address(parts[i].destination), Address(job.parts[i].destination), received);
  }
}

/// Sets job->ready once the stream's earlier work is done. Under Calls.
void MpiGroup::arrange_ready(const std::shared_ptr<MpiJob>& job, const Pin<StreamState>& stream,
                             const char* operation) {
  const auto last = runtime_.last_of(stream->id);
  if (last && is_last_of(*stream, *last->wait)) {
    if (last->state == MpiJob::State::done) {
      job->ready = true;
    } else {
      last->next = job;
    }
    return;
  }
  if (is_surely_idle(*stream, operation)) {
    job->ready = true;
    return;
  }
  MpiRuntime* const runtime = &runtime_;
  if (has_capability(device(), Capability::host_functions, operation)) {
    launch_host_function(
        *stream,
        [job, runtime] {
          job->ready = true;
          runtime->wake();
        },
        operation);
    return;
  }
  const std::shared_ptr<EventState> event = make_event(device(), 0, operation);
  record(*event, *stream, operation);
  struct Asked {
    std::shared_ptr<EventState> event;
    std::shared_ptr<MpiJob> job;
    MpiRuntime* runtime;
    ServiceRoom room;
  };
  auto* const asked = new Asked{event, job, runtime, ServiceRoom(operation)};
  poll_in_service([asked] {
    try {
      if (!query(*asked->event, "Communicator")) return false;
    } catch (const std::exception&) {  // the device is lost, which the job notices
    }
    asked->job->ready = true;
    asked->runtime->wake();
    delete asked;
    return true;
  });
}

void MpiGroup::submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) {
  const auto job = std::make_shared<MpiJob>();
  job->parts = parts;
  job->stream_id = stream->id;
  job->requests.reserve(parts.size() + 1);
  stage(*job, stream, operation);
  Signals done;
  {
    MpiRuntime::Calls calls(runtime_);
    if (const std::optional<Error> failed = failure()) throw Error(*failed);
    arrange_ready(job, stream, operation);
    job->header.sequence = ++sequence_;
    if (job->ready && jobs_.empty() && do_at_once(*job)) return;
    job->wait = wait_for_host(*stream, help_mpi, operation);
    runtime_.last_of(stream->id) = job;
    jobs_.push_back(job);
    step(Deadline::Clock::now(), done);
    if (has_jobs()) runtime_.add(shared_from_this());
  }
  signal(done);
  unstage(*job, parts, StreamView(stream->id));
}

/// Starts a job that may begin, where none comes before it. True if it is a small one that is over a few looks later:
/// where the ranks are in step that takes less time than holding the stream for it. What fails is left to the next
/// look.
bool MpiGroup::do_at_once(MpiJob& job) {
  if (job.parts.size() != 1 || job.parts[0].what != Collective::all_reduce || !job.staged.empty() || checks_)
    return false;
  if (job.parts[0].count * size_of(job.parts[0].type) > small_reduce_bytes || !job.staged_plainly.empty()) return false;
  const auto began = Deadline::Clock::now();
  job.deadline = began + timeout();
  try {
    start(job);
    for (int look = 0; look < looks_at_once; ++look) {
      if (test(job)) {
        finish(job);
        return true;
      }
      if (look % 8 == 7 && Deadline::Clock::now() - began > time_at_once) break;
    }
  } catch (const Error& error) {
    fail_with(error);
    runtime_.give_up();
    throw;
  }
  return false;
}

void MpiGroup::signal(const Signals& done) const noexcept {
  if (done.empty()) return;
  const std::optional<Error> failed = failure();
  for (const std::shared_ptr<CrossWait>& wait : done) signal_cross_wait(*wait, failed ? &*failed : nullptr);
}

// ---- Starting and testing ------------------------------------------------------------------------------------------

bool MpiGroup::step(Deadline::Clock::time_point now, Signals& done) noexcept {
  bool running = false;
  try {
    bool may_start = true;
    for (const std::shared_ptr<MpiJob>& job : jobs_) {
      if (job->state == MpiJob::State::queued) {
        if (device().lost.load(std::memory_order_relaxed)) refuse_lost(device(), "Communicator");
        may_start = may_start && job->ready;
        if (!may_start) break;
        job->deadline = now + timeout();
        start(*job);
      }
      running = true;
      if (test(*job)) finish(*job);
      // What it still has to start comes before what later jobs start.
      const bool more_to_start =
          job->state == MpiJob::State::checking || (job->begun != 0 && job->begun < job->parts.front().count);
      if (more_to_start && job->state != MpiJob::State::done) may_start = false;
      if (job->state != MpiJob::State::done && now >= job->deadline) {
        runtime_.give_up();
        throw timeout_error(device().place, "Communicator", "do " + describe(job->parts.front()), timeout());
      }
    }
    // What is done may have others before it that aren't: those of other streams.
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if ((*job)->state != MpiJob::State::done) {
        ++job;
        continue;
      }
      done.push_back((*job)->wait);
      job = jobs_.erase(job);
    }
  } catch (const Error& error) {
    give_up(error, done);
  } catch (const std::exception&) {
    give_up(no_memory_error(), done);
  }
  return running && !jobs_.empty();
}

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

void MpiGroup::start_small(MpiJob& job) {
  const Part& part = job.parts.front();
  const std::uint64_t bytes = part.count * size_of(part.type);
  if (part.source != part.destination) std::memcpy(pointer(part.destination), pointer(part.source), bytes);
  const MpiLibrary& mpi = runtime_.mpi();
  const SmallReduce::Operation operation{pointer(part.destination),
                                         static_cast<int>(part.count),
                                         mpi_type(mpi, part.type),
                                         mpi_op(mpi, runtime_.own_ops(), part.type, part.reduction),
                                         comm_,
                                         static_cast<int>(1 + job.header.sequence % small_tags)};
  job.small = std::make_unique<SmallReduce>(mpi, operation, bytes, rank(), size());
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
  runtime_.check(start_part(piece, &request), device().place, "Communicator");
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
  for (const Part& part : job.parts) {
    MpiHandle request = 0;
    runtime_.check(start_part(part, &request), device().place, "Communicator");
    job.requests.push_back(request);
  }
  job.state = MpiJob::State::running;
}

int MpiGroup::start_part(const Part& part, MpiHandle* request) const noexcept {
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
      return mpi.Isend(pointer(part.source), count, type, part.root, message_tag, comm_, request);
    case Collective::recv:
      return mpi.Irecv(to, count, type, part.root, message_tag, comm_, request);
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
    int code = mpi_success;
    if (job.small && job.small->advance(job.requests, code)) continue;
    runtime_.check(code, device().place, "Communicator");
    if (job.begun != 0 && job.begun < job.parts.front().count) {
      start_piece(job);
      continue;
    }
    if (job.state != MpiJob::State::checking) return true;
    compare_headers(job);
    start_parts(job);
  }
}

void MpiGroup::finish(MpiJob& job) const noexcept {
  for (const Part& part : job.parts) {
    if (!part.reduces() || part.reduction != Reduction::avg) continue;
    if (part.what == Collective::reduce && rank() != part.root) continue;
    divide(pointer(part.destination), part.count, part.type, size());
  }
  job.state = MpiJob::State::done;
  if (job.next) job.next->ready = true;
  job.next.reset();
  runtime_.forget_last(job.stream_id, &job);
}

// ---- Ending --------------------------------------------------------------------------------------------------------
namespace {

/// Jobs that MPI may still work on, with the memory that it would use. Never freed.
struct Abandoned {
  std::mutex mutex;  // guards jobs; a leaf
  std::vector<std::shared_ptr<MpiJob>> jobs;
};
NoDestructor<Abandoned> abandoned;

}  // namespace

void MpiGroup::give_up(const Error& error, Signals& done) noexcept {
  fail_with(error);
  for (const std::shared_ptr<MpiJob>& job : jobs_) {
    done.push_back(job->wait);
    if (job->next) job->next->ready = true;
    job->next.reset();
    runtime_.forget_last(job->stream_id, job.get());
    if (job->requests.empty()) continue;
    runtime_.give_up();
    const std::lock_guard lock(abandoned.value.mutex);
    abandoned.value.jobs.push_back(job);
  }
  jobs_.clear();
}

void MpiGroup::end(const Error& error) noexcept {
  Signals done;
  {
    MpiRuntime::Calls calls(runtime_);
    give_up(error, done);
  }
  signal(done);
}

bool MpiGroup::idle() {
  MpiRuntime::Calls calls(runtime_);
  return jobs_.empty();
}

bool MpiGroup::wait(const Deadline& deadline) {
  while (!idle()) {
    if (deadline.passed()) return false;
    runtime_.help();
  }
  return true;
}

// ---- Making --------------------------------------------------------------------------------------------------------

namespace {

/// Makes a communicator with `make`, which waits for others: those of `comm`, which have all come when it is called.
template <class Make>
MpiHandle make_comm(MpiRuntime& runtime, MpiHandle comm, std::chrono::nanoseconds timeout, const std::string& place,
                    const char* operation, Make&& make) {
  const Deadline deadline(to_timeout_ns(timeout));
  const MpiLibrary& mpi = runtime.mpi();
  runtime.run([&](MpiHandle* request) { return mpi.Ibarrier(comm, request); }, deadline, place, operation,
              "make the communicator", timeout);
  MpiHandle made = mpi.comm_null;
  if (runtime.is_multiple()) {
    runtime.check(make(&made), place, operation);
  } else {
    MpiRuntime::Calls calls(runtime);
    runtime.check(make(&made), place, operation);
  }
  return made;
}

}  // namespace

std::shared_ptr<EngineGroup> MpiGroup::split(int color, int key, const char* operation) {
  const MpiLibrary& mpi = runtime_.mpi();
  const MpiHandle made = make_comm(runtime_, comm_, timeout(), device().place, operation, [&](MpiHandle* out) {
    return mpi.Comm_split(comm_, color < 0 ? mpi_undefined : color, key, out);
  });
  if (made == mpi.comm_null) return nullptr;
  int rank = 0, size = 0;
  runtime_.check(mpi.Comm_rank(made, &rank), device().place, operation);
  runtime_.check(mpi.Comm_size(made, &size), device().place, operation);
  return std::make_shared<MpiGroup>(runtime_, made, device(), rank, size, timeout());
}

std::shared_ptr<EngineGroup> make_mpi_group(DeviceState& device, int rank, int size, std::chrono::nanoseconds timeout,
                                            const char* operation) {
  MpiRuntime& runtime = MpiRuntime::get(device.place, operation);
  if (size >= 0 && (size != runtime.world_size() || rank != runtime.world_rank())) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("this is rank {} of {}, but to MPI it is rank {} of {}\nthe engine mpi has its ranks from MPI's "
                     "launcher: start the program with mpirun -n {}\nsee docs/ranks.md",
                     rank, size, runtime.world_rank(), runtime.world_size(), size));
  }
  const MpiLibrary& mpi = runtime.mpi();
  const MpiHandle made = make_comm(runtime, runtime.world(), timeout, device.place, operation,
                                   [&](MpiHandle* out) { return mpi.Comm_dup(runtime.world(), out); });
  return std::make_shared<MpiGroup>(runtime, made, device, runtime.world_rank(), runtime.world_size(), timeout);
}

}  // namespace anyplace::detail
