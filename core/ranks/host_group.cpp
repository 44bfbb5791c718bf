// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "anyplace/stream.h"
#include "memory/address_side.h"
#include "plugins/device_properties.h"
#include "ranks/engine_error.h"
#include "runtime/call.h"
#include "runtime/shortage.h"
#include "runtime/switch_variable.h"
#include "streams/captured.h"
#include "streams/event_state.h"
#include "streams/hold.h"

namespace anyplace::detail {
namespace {

/// submit_at_once() tests an all_reduce for `patience_` before it makes it a job, because a job costs a stream that is
/// held and a thread that looks after it. The patience becomes the longest when a thread that waited has seen such a
/// job done, and a fourth of what it was, but not less than the shortest, when another thread has.
constexpr std::chrono::microseconds shortest_patience{20}, longest_patience{2000};
/// So many tests are made between two looks at the clock.
constexpr int looks_at_a_time = 8;

void help() noexcept { HostProgress::get().help(); }

bool is_of_all_ranks(const HostJob& job) {
  return std::any_of(job.parts.begin(), job.parts.end(), [](const Part& part) { return !part.is_between_two(); });
}

}  // namespace

HostGroup::HostGroup(HostRuntime& runtime, const anyplace_engine_group& made, DeviceState& device,
                     std::chrono::nanoseconds timeout, std::shared_ptr<RanksHere> here)
    : EngineGroup(device, made.rank, made.size, timeout, std::move(here)),
      runtime_(runtime),
      table_(runtime.table()),
      group_(made.group),
      checks_(switch_variable("ANYPLACE_COMMUNICATOR_CHECK", false)),
      in_virtual_time_(is_in_virtual_time(device, "Communicator") &&
                       has_capability(device, Capability::gates, "Communicator") &&
                       has_capability(device, Capability::host_functions, "Communicator")),
      takes_device_memory_((made.flags & ANYPLACE_ENGINE_DEVICE_MEMORY) != 0),
      at_once_bytes_(made.at_once_bytes),
      patience_(shortest_patience) {
  runtime.allow(timeout);
}

HostGroup::~HostGroup() {
  if (!process_running() || failure()) return;  // a rank may be inside of an operation that never ends
  const HostProgress::Calls calls;
  if (!runtime_.is_over()) table_.group_destroy(table_.self, group_);
}

void HostGroup::require(const Part& part, const char* operation) const {
  runtime_.require_open(device().place, operation);
  if (table_.part_check == nullptr) return;
  const anyplace_engine_part crossing = crossing_part(part);
  runtime_.check(table_.part_check(table_.self, &crossing), device().place, operation);
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

bool HostGroup::stages(anyplace_address address) const noexcept {
  return !takes_device_memory_ && address != 0 && AddressSide("memory", address, device()).device() != nullptr;
}

anyplace_address HostGroup::host_memory(HostJob& job, std::uint64_t bytes) const {
  if (has_capability(device(), Capability::pinned_memory, "Communicator")) {
    job.staged.emplace_back(Device(&device()), bytes);
    return reinterpret_cast<std::uintptr_t>(job.staged.back().data());
  }
  job.staged_plainly.emplace_back(bytes);
  return reinterpret_cast<std::uintptr_t>(job.staged_plainly.back().data());
}

/// Puts host memory in the place of the device's in the job's parts, and copies what the rank sends to it. After an
/// all_gather in place, unstage() copies the whole destination back, with the rank's own elements, which the engine has
/// gathered, too.
void HostGroup::stage(HostJob& job, const Pin<StreamState>& stream) {
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

/// Copies what was received to the device. The copies are work of the stream that comes after its wait for the job.
void HostGroup::unstage(const HostJob& job, const std::vector<Part>& parts, StreamView stream) const {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint64_t received = parts[i].destination_bytes(rank(), size());
    if (received == 0 || job.parts[i].destination == parts[i].destination) continue;
    stream.copy(Address(parts[i].destination), Address(job.parts[i].destination), received);
  }
}

/// Has a host function set *job.ready once the stream's earlier work is done.
void HostGroup::launch_ready(const HostJob& job, const Pin<StreamState>& stream, const char* operation) const {
  launch_host_function(
      *stream,
      [ready = job.ready] {
        *ready = true;
        HostProgress::get().wake();
      },
      no_deed(), operation);
}

/// Sets *job->ready once the stream's earlier work is done. Called under Calls.
void HostGroup::arrange_ready(const std::shared_ptr<HostJob>& job, const Pin<StreamState>& stream,
                              const char* operation) {
  const auto last = HostProgress::get().last_of(stream->id);
  if (last && is_last_of(*stream, *last->wait)) {
    if (last->state == HostJob::State::done) {
      *job->ready = true;
    } else {
      last->next = job;
    }
    return;
  }
  if (is_surely_idle(*stream, operation)) {
    *job->ready = true;
    return;
  }
  if (has_capability(device(), Capability::host_functions, operation)) {
    launch_ready(*job, stream, operation);
    return;
  }
  const std::shared_ptr<EventState> event = make_event(device(), 0, operation);
  record(*event, *stream, operation);
  struct Asked {
    std::shared_ptr<EventState> event;
    std::shared_ptr<std::atomic<bool>> ready;
    ServiceRoom room;
  };
  auto* const asked = new Asked{event, job->ready, ServiceRoom(operation)};
  poll_in_service([asked] {
    try {
      if (!query(*asked->event, "Communicator")) return false;
    } catch (const std::exception&) {  // the device is lost, which step() notices
    }
    *asked->ready = true;
    HostProgress::get().wake();
    delete asked;
    return true;
  });
}

/// Adds the job, and holds the stream until it is done. Called under Calls.
void HostGroup::enlist(const std::shared_ptr<HostJob>& job, StreamState& stream, const char* operation) {
  std::shared_ptr<HostJob>& last = HostProgress::get().last_of(stream.id);
  jobs_.push_back(job);
  try {
    job->wait = wait_for_host(stream, help, operation);
  } catch (...) {
    jobs_.pop_back();
    throw;
  }
  last = job;
}

/// Submits a job where operations take virtual time. The backend may execute other operations during each call, and may
/// wait for the job's own end, so the calls are made without the lock of the engines' calls, and with the job enlisted.
/// How far the engine has come in real time is never asked: the stream waits for each job.
void HostGroup::submit_in_virtual_time(const std::shared_ptr<HostJob>& job, const Pin<StreamState>& stream,
                                       const char* operation) {
  job->wait = make_host_wait(*stream, operation);
  try {
    const HostProgress::Calls calls;
    if (const std::optional<Error> failed = failure()) throw Error(*failed);
    runtime_.require_open(device().place, operation);
    HostProgress::get().add(shared_from_this());
    if (is_of_all_ranks(*job)) job->header.sequence = ++sequence_;
    jobs_.push_back(job);
  } catch (...) {
    signal_cross_wait(*job->wait, nullptr);
    throw;
  }
  try {
    launch_ready(*job, stream, operation);
  } catch (...) {  // the job is never ready
    {
      const HostProgress::Calls calls;
      std::erase(jobs_, job);
    }
    signal_cross_wait(*job->wait, nullptr);
    throw;
  }
  submit_host_wait(*stream, *job->wait, operation);
}

void HostGroup::submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) {
  auto job = std::make_shared<HostJob>();
  job->parts = parts;
  job->stream_id = stream->id;
  stage(*job, stream);
  if (in_virtual_time_) {
    submit_in_virtual_time(job, stream, operation);
    unstage(*job, parts, StreamView(stream->id));
    HostProgress::get().leave(std::move(job));
    return;
  }
  Signals done;
  {
    const HostProgress::Calls calls;
    if (const std::optional<Error> failed = failure()) throw Error(*failed);
    runtime_.require_open(device().place, operation);
    arrange_ready(job, stream, operation);
    if (is_of_all_ranks(*job)) job->header.sequence = ++sequence_;
    enlist(job, *stream, operation);
    step(Deadline::Clock::now(), false, done);
    if (has_jobs()) HostProgress::get().add(shared_from_this());
  }
  signal(done);
  unstage(*job, parts, StreamView(stream->id));
}

bool HostGroup::is_at_once(const std::vector<Part>& parts) const noexcept {
  const Part& first = parts.front();
  return parts.size() == 1 && first.what == Collective::all_reduce &&
         first.count * size_of(first.type) <= at_once_bytes_;
}

/// If the ranks are in step, an all_reduce of a few bytes is over after a few tests, which take less time than a job
/// does. So it is tested here at once, if the engine reaches its memory and the stream is idle. If it isn't over soon,
/// it becomes a job that has been started.
bool HostGroup::submit_at_once(const Pin<StreamState>& stream, const Part& part, const char* operation) {
  if (part.what != Collective::all_reduce || part.count * size_of(part.type) > at_once_bytes_) return false;
  if (!takes_device_memory_ || checks_ || in_virtual_time_) return false;
  const HostProgress::Calls calls;
  if (!jobs_.empty() || failure() || runtime_.is_over() || !is_surely_idle(*stream, operation)) return false;
  try {
    ++sequence_;
    const anyplace_engine_part crossing = crossing_part(part);
    anyplace_operation started = 0;
    const anyplace_status status =
        table_.operation_start(table_.self, group_, &crossing, 1, sizeof(crossing), &started);
    runtime_.check(status, device().place, "Communicator");
    if (test_for_a_while(started)) return true;
    const auto job = std::make_shared<HostJob>();
    job->parts = {part};
    job->stream_id = stream->id;
    job->header.sequence = sequence_;
    job->state = HostJob::State::running;
    job->operation = started;
    job->is_under_way = true;
    job->deadline = Deadline::Clock::now() + timeout();
    HostProgress::get().add(shared_from_this());
    enlist(job, *stream, operation);
    return true;
  } catch (const Error& error) {  // the engine may still write to the memory
    runtime_.give_up();
    fail_with(error);
    throw;
  } catch (const std::exception&) {
    runtime_.give_up();
    fail_with(no_memory_error());
    throw;
  }
}

bool HostGroup::test_for_a_while(anyplace_operation operation) const {
  const auto looks = [&] {
    for (int look = 0; look < looks_at_a_time; ++look) {
      if (test_operation(operation) == ANYPLACE_OPERATION_DONE) return true;
    }
    return false;
  };
  if (looks()) return true;  // these tests need no look at the clock
  const auto until = Deadline::Clock::now() + patience_;
  do {
    if (looks()) return true;
  } while (Deadline::Clock::now() < until);
  return false;
}

void HostGroup::signal(const Signals& done) const noexcept {
  if (done.empty()) return;
  const std::optional<Error> failed = failure();
  for (const std::shared_ptr<CrossWait>& wait : done) signal_cross_wait(*wait, failed ? &*failed : nullptr);
}

// ---- Looking ------------------------------------------------------------------------------------------

bool HostGroup::step(Deadline::Clock::time_point now, bool by_waiter, Signals& done) noexcept {
  bool running = false;
  try {
    if (!jobs_.empty()) runtime_.require_open(device().place, "Communicator");
    bool may_start = true;
    for (const std::shared_ptr<HostJob>& job : jobs_) {
      if (job->state == HostJob::State::queued) {
        if (device().lost.load(std::memory_order_relaxed)) refuse_lost(device(), "Communicator");
        may_start = may_start && *job->ready;
        if (!may_start) break;
        job->deadline = now + timeout();
        start(*job);
      }
      running = true;
      if (test(*job)) {
        if (is_at_once(job->parts)) {
          patience_ = by_waiter ? longest_patience : std::max(patience_ / 4, shortest_patience);
        }
        finish(*job);
      }
      if (job->has_more_to_start && job->state != HostJob::State::done) may_start = false;
      if (job->state != HostJob::State::done && now >= job->deadline) {
        throw timeout_error(device().place, "Communicator", "do " + describe(job->parts.front()), timeout());
      }
    }
    // A job may be done before an earlier one of another stream is, so all are looked at.
    for (auto job = jobs_.begin(); job != jobs_.end();) {
      if ((*job)->state != HostJob::State::done) {
        ++job;
        continue;
      }
      done.push_back((*job)->wait);
      job = jobs_.erase(job);
    }
  } catch (const Error& error) {
    if (!all_ranks_know_) runtime_.give_up();  // the others would wait for this one, so they are ended at exit
    end_jobs(error, done);
  } catch (const std::exception&) {
    runtime_.give_up();
    end_jobs(no_memory_error(), done);
  }
  return running && !jobs_.empty();
}

// ---- Jobs ----------------------------------------------------------------------------------------------------------

void HostGroup::start(HostJob& job) {
  if (checks_ && is_of_all_ranks(job)) return start_check(job);
  start_parts(job);
}

void HostGroup::start_parts(HostJob& job) {
  job.state = HostJob::State::running;
  job.is_under_way = true;
  const std::vector<anyplace_engine_part> crossing = crossing_parts(job.parts);
  runtime_.check(
      table_.operation_start(table_.self, group_, crossing.data(), static_cast<std::uint32_t>(crossing.size()),
                             sizeof(crossing.front()), &job.operation),
      device().place, "Communicator");
}

/// Starts to gather the headers of all ranks, which say what each is about to do.
void HostGroup::start_check(HostJob& job) {
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
  job.state = HostJob::State::checking;
  job.is_under_way = true;
  Part gather;
  gather.what = Collective::all_gather;
  gather.count = sizeof(JobHeader);
  gather.source = reinterpret_cast<std::uintptr_t>(&job.header);
  gather.destination = reinterpret_cast<std::uintptr_t>(job.headers.data());
  const anyplace_engine_part crossing = crossing_part(gather);
  runtime_.check(table_.operation_start(table_.self, group_, &crossing, 1, sizeof(crossing), &job.operation),
                 device().place, "Communicator");
}

void HostGroup::compare_headers(const HostJob& job) {
  const auto named = [](const JobHeader& header) {
    Part part;
    part.what = static_cast<Collective>(header.what);
    part.type = static_cast<DType>(header.type);
    part.reduction = static_cast<Reduction>(header.reduction);
    part.root = header.root;
    part.count = header.count;
    return describe(part) + (header.parts > 1 ? fmt::format(" and {} more", header.parts - 1) : "");
  };
  for (std::size_t rank = 1; rank < job.headers.size(); ++rank) {
    if (std::memcmp(&job.headers[rank], &job.headers[0], sizeof(JobHeader)) == 0) continue;
    all_ranks_know_ = true;  // each has the headers of all
    fail(ErrorCode::invalid_argument, device().place, "Communicator",
         fmt::format("the ranks call different operations: as number {}, rank 0 calls {}, and rank {} calls {}\nall "
                     "ranks call the same ones in the same order\nsee docs/ranks.md",
                     job.headers[0].sequence, named(job.headers[0]), rank, named(job.headers[rank])));
  }
}

std::uint32_t HostGroup::test_operation(anyplace_operation operation) const {
  std::uint32_t state = ANYPLACE_OPERATION_RUNNING;
  runtime_.check(table_.operation_test(table_.self, operation, &state), device().place, "Communicator");
  return state;
}

/// Tests the job's operation. Returns whether the job is done. When the headers are gathered, it compares them and
/// starts the parts.
bool HostGroup::test(HostJob& job) {
  while (true) {
    const std::uint32_t state = test_operation(job.operation);
    job.has_more_to_start = state == ANYPLACE_OPERATION_STARTING || job.state == HostJob::State::checking;
    if (state != ANYPLACE_OPERATION_DONE) return false;
    job.is_under_way = false;
    if (job.state != HostJob::State::checking) return true;
    compare_headers(job);
    start_parts(job);
  }
}

void HostGroup::finish(HostJob& job) const noexcept {
  job.state = HostJob::State::done;
  if (job.next) *job.next->ready = true;
  job.next.reset();
  HostProgress::get().forget_last(job.stream_id, &job);
}

// ---- Ending --------------------------------------------------------------------------------------------------------
namespace {

/// These jobs have memory that an engine may still use, so they are never freed.
struct Abandoned {
  std::mutex mutex;  // guards jobs; a leaf
  std::vector<std::shared_ptr<HostJob>> jobs;
};
NoDestructor<Abandoned> abandoned;

}  // namespace

void HostGroup::end_jobs(const Error& error, Signals& done) noexcept {
  fail_with(error);
  for (const std::shared_ptr<HostJob>& job : jobs_) {
    done.push_back(job->wait);
    if (job->next) *job->next->ready = true;
    job->next.reset();
    HostProgress::get().forget_last(job->stream_id, job.get());
    if (!job->is_under_way) continue;
    runtime_.give_up();
    const std::lock_guard lock(abandoned.value.mutex);
    abandoned.value.jobs.push_back(job);
  }
  jobs_.clear();
}

void HostGroup::end(const Error& error) noexcept {
  Signals done;
  {
    const HostProgress::Calls calls;
    end_jobs(error, done);
  }
  signal(done);
}

bool HostGroup::idle() {
  const HostProgress::Calls calls;
  return jobs_.empty();
}

bool HostGroup::wait(const Deadline& deadline) {
  while (!idle()) {
    if (deadline.passed()) return false;
    HostProgress::get().help();
  }
  return true;
}

}  // namespace anyplace::detail
