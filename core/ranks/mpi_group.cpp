// SPDX-License-Identifier: Apache-2.0
#include "ranks/mpi_group.h"

#include <fmt/format.h>

#include <algorithm>
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

/// How long a small all_reduce is looked at before the call that submits it returns: the most where a thread waited for
/// the last one that became a job, less each time that nobody did. Beside what a job costs, a stream that is held and a
/// thread that looks after it, most of it is little: where ranks share cores it is less.
constexpr std::chrono::microseconds shortest_patience{20}, longest_patience{2000};
/// So many looks are made between two looks at the clock.
constexpr int looks_at_a_time = 8;

void help_mpi() noexcept { MpiRuntime::existing()->help(); }

}  // namespace

MpiGroup::MpiGroup(MpiRuntime& runtime, MpiHandle comm, DeviceState& device, int rank, int size,
                   std::chrono::nanoseconds timeout)
    : EngineGroup(device, rank, size, timeout),
      runtime_(runtime),
      comm_(comm),
      checks_(switch_variable("ANYPLACE_COMMUNICATOR_CHECK", false)),
      is_foreign_(device.backend->name == "cuda" && runtime.is_cuda_aware()),
      host_device_(device.backend->name == "cpu_sim" || is_foreign_),
      small_plan_(rank, size),
      patience_(shortest_patience) {
  runtime.allow(timeout);
}

MpiGroup::~MpiGroup() {
  if (!process_running() || failure()) return;  // a rank may be inside of an operation that never ends
  MpiRuntime::Calls calls(runtime_);
  if (!runtime_.is_over()) runtime_.mpi().Comm_free(&comm_);
}

void MpiGroup::require(const Part& /*part*/, const char* operation) const {  // what is more than MPI counts is cut
  runtime_.require_open(device().place, operation);
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

/// Adds the job, and holds the stream until it is done. Under Calls.
void MpiGroup::enlist(const std::shared_ptr<MpiJob>& job, StreamState& stream, const char* operation) {
  std::shared_ptr<MpiJob>& last = runtime_.last_of(stream.id);
  jobs_.push_back(job);
  try {
    job->wait = wait_for_host(stream, help_mpi, operation);
  } catch (...) {
    jobs_.pop_back();
    throw;
  }
  last = job;
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
    runtime_.require_open(device().place, operation);
    arrange_ready(job, stream, operation);
    job->header.sequence = ++sequence_;
    enlist(job, *stream, operation);
    step(Deadline::Clock::now(), false, done);
    if (has_jobs()) runtime_.add(shared_from_this());
  }
  signal(done);
  unstage(*job, parts, StreamView(stream->id));
}

/// An all_reduce of a few bytes, of memory that the host and MPI reach, in a stream that is idle: where the ranks are
/// in step it is over a few looks later, which takes less time than a job. If it isn't, it becomes one.
bool MpiGroup::submit_at_once(const Pin<StreamState>& stream, const Part& part, const char* operation) {
  if (part.what != Collective::all_reduce || part.count * size_of(part.type) > small_reduce_bytes) return false;
  if (!host_device_ || is_foreign_ || checks_) return false;
  MpiRuntime::Calls calls(runtime_);
  if (!jobs_.empty() || failure() || runtime_.is_over() || !is_surely_idle(*stream, operation)) return false;
  if (!spare_) spare_ = std::make_unique<SmallReduce>(runtime_.mpi(), small_plan_);
  try {
    begin_small(*spare_, part, ++sequence_);
    int code = mpi_success;
    if (look_for_a_while(*spare_, code)) {
      runtime_.check(code, device().place, "Communicator");
      divide_average(part);
      return true;
    }
    const auto job = std::make_shared<MpiJob>();
    job->parts = {part};
    job->stream_id = stream->id;
    job->header.sequence = sequence_;
    job->state = MpiJob::State::running;
    job->deadline = Deadline::Clock::now() + timeout();
    runtime_.add(shared_from_this());
    enlist(job, *stream, operation);
    job->small = std::move(spare_);
    return true;
  } catch (const Error& error) {
    abandon_spare();
    fail_with(error);
    throw;
  } catch (const std::exception&) {
    abandon_spare();
    fail_with(no_memory_error());
    throw;
  }
}

bool MpiGroup::look_for_a_while(SmallReduce& small, int& code) const {
  const auto looks = [&] {
    for (int look = 0; look < looks_at_a_time; ++look) {
      if (small.look(code)) return true;
    }
    return false;
  };
  if (looks()) return true;  // the clock isn't looked at before
  const auto until = Deadline::Clock::now() + patience_;
  do {
    if (looks()) return true;
  } while (Deadline::Clock::now() < until);
  return false;
}

void MpiGroup::signal(const Signals& done) const noexcept {
  if (done.empty()) return;
  const std::optional<Error> failed = failure();
  for (const std::shared_ptr<CrossWait>& wait : done) signal_cross_wait(*wait, failed ? &*failed : nullptr);
}

// ---- Looking ------------------------------------------------------------------------------------------

bool MpiGroup::step(Deadline::Clock::time_point now, bool by_waiter, Signals& done) noexcept {
  bool running = false;
  try {
    if (!jobs_.empty()) runtime_.require_open(device().place, "Communicator");
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
      if (test(*job)) {
        if (job->small) patience_ = by_waiter ? longest_patience : std::max(patience_ / 4, shortest_patience);
        finish(*job);
      }
      // What it still has to start comes before what later jobs start.
      const bool more_to_start =
          job->state == MpiJob::State::checking || (job->begun != 0 && job->begun < job->parts.front().count);
      if (more_to_start && job->state != MpiJob::State::done) may_start = false;
      if (job->state != MpiJob::State::done && now >= job->deadline) {
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
    // All ranks know that they call different operations. Of whatever else fails the others know nothing.
    if (error.code() != ErrorCode::invalid_argument) runtime_.give_up();
    give_up(error, done);
  } catch (const std::exception&) {
    runtime_.give_up();
    give_up(no_memory_error(), done);
  }
  return running && !jobs_.empty();
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
    if (job->requests.empty() && !(job->small && job->small->is_pending())) continue;
    runtime_.give_up();
    const std::lock_guard lock(abandoned.value.mutex);
    abandoned.value.jobs.push_back(job);
  }
  jobs_.clear();
}

/// After an operation that failed before it was a job.
void MpiGroup::abandon_spare() noexcept {
  runtime_.give_up();
  static_cast<void>(spare_.release());  // MPI may still write to it
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

}  // namespace anyplace::detail
