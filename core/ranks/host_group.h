// SPDX-License-Identifier: Apache-2.0
//
// HostGroup is a communicator over an engine on the host. A HostJob is one piece of a stream's work that it does.
//
// A job waits until its stream's earlier work is done and the group's earlier jobs have started, so that all ranks
// start a group's jobs in the order of the calls. Then it is started and tested until it is done, and its stream, which
// was held, goes on. Data in device memory that the engine can't reach is copied to pinned host memory before and back
// afterwards, as work of the stream.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "anyplace/memory.h"
#include "ranks/bootstrap.h"
#include "ranks/engine_group.h"
#include "ranks/host_progress.h"
#include "ranks/host_runtime.h"
#include "streams/cross_wait.h"

namespace anyplace::detail {

/// With ANYPLACE_COMMUNICATOR_CHECK=1 the ranks compare these before they start a job; they have to be equal at all
/// ranks. Most members describe the job's first part that isn't a send or a recv.
struct JobHeader {
  std::uint64_t sequence = 0;  ///< counts the jobs that all ranks take part in
  std::uint64_t count = 0;
  std::uint64_t rest = 0;  ///< a hash of the job's other parts
  std::int32_t root = 0;
  std::uint8_t what = 0;
  std::uint8_t type = 0;
  std::uint8_t reduction = 0;
  std::uint8_t parts = 0;
};

struct HostJob {
  std::vector<Part> parts;  ///< with addresses that the engine reaches
  std::vector<HostBuffer> staged;
  std::vector<std::vector<std::byte>> staged_plainly;
  std::uint64_t stream_id = 0;
  std::shared_ptr<CrossWait> wait;
  std::shared_ptr<HostJob> next;  ///< it becomes ready when this one is done; used under Calls
  /// The stream's earlier work is done. What says so owns this alone, so that the job never ends in a host function.
  std::shared_ptr<std::atomic<bool>> ready = std::make_shared<std::atomic<bool>>(false);

  // -- Under HostProgress::Calls.
  enum class State { queued, checking, running, done } state = State::queued;
  Deadline::Clock::time_point deadline{};
  anyplace_operation operation = 0;  ///< the engine's operation that was started last
  bool is_under_way = false;         ///< the engine may use the memory
  bool has_more_to_start = false;    ///< no later job may start before it has
  JobHeader header;
  std::vector<JobHeader> headers;  ///< those of all ranks, once they were gathered
};

class HostGroup final : public EngineGroup, public std::enable_shared_from_this<HostGroup> {
 public:
  HostGroup(HostRuntime& runtime, const anyplace_engine_group& made, DeviceState& device,
            std::chrono::nanoseconds timeout, std::shared_ptr<RanksHere> here);
  ~HostGroup() override;

  void require(const Part& part, const char* operation) const override;
  void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) override;
  bool submit_at_once(const Pin<StreamState>& stream, const Part& part, const char* operation) override;
  std::shared_ptr<EngineGroup> split(int color, int key, const char* operation) override;
  bool idle() override;
  bool wait(const Deadline& deadline) override;
  void end(const Error& error) noexcept override;

  using Signals = std::vector<std::shared_ptr<CrossWait>>;
  /// Tests the jobs that are started once, and starts those that may start. `by_waiter` says that the calling thread
  /// waits for work of the engines. Called under Calls. Adds the waits of the jobs that are done to `done`, which the
  /// caller then gives to signal(). Returns whether it has tested a job and jobs are left.
  bool step(Deadline::Clock::time_point now, bool by_waiter, Signals& done) noexcept;
  /// Called under Calls.
  bool has_jobs() const noexcept { return !jobs_.empty(); }
  /// Lets the streams of jobs that are done go on. Not called under Calls.
  void signal(const Signals& done) const noexcept;

 private:
  bool stages(anyplace_address address) const noexcept;
  void stage(HostJob& job, const Pin<StreamState>& stream);
  void unstage(const HostJob& job, const std::vector<Part>& parts, StreamView stream) const;
  anyplace_address host_memory(HostJob& job, std::uint64_t bytes) const;
  void arrange_ready(const std::shared_ptr<HostJob>& job, const Pin<StreamState>& stream, const char* operation);
  void launch_ready(const HostJob& job, const Pin<StreamState>& stream, const char* operation) const;
  void submit_in_virtual_time(const std::shared_ptr<HostJob>& job, const Pin<StreamState>& stream,
                              const char* operation);
  void enlist(const std::shared_ptr<HostJob>& job, StreamState& stream, const char* operation);
  bool is_at_once(const std::vector<Part>& parts) const noexcept;
  bool test_for_a_while(anyplace_operation operation) const;
  // -- Under Calls.
  void start(HostJob& job);
  void start_parts(HostJob& job);
  void start_check(HostJob& job);
  void compare_headers(const HostJob& job);
  std::uint32_t test_operation(anyplace_operation operation) const;
  bool test(HostJob& job);
  void finish(HostJob& job) const noexcept;
  /// Makes the group fail with `error`, and removes all jobs, whose waits it adds to `done`.
  void end_jobs(const Error& error, Signals& done) noexcept;

  HostRuntime& runtime_;
  const anyplace_engine_table& table_;
  const anyplace_group group_;
  const bool checks_;  ///< ANYPLACE_COMMUNICATOR_CHECK
  const bool in_virtual_time_;
  const bool takes_device_memory_;  ///< the engine reaches the device's memory
  const std::uint64_t at_once_bytes_;
  // -- Under HostProgress::Calls.
  std::deque<std::shared_ptr<HostJob>> jobs_;
  std::uint64_t sequence_ = 0;
  std::chrono::microseconds patience_;  ///< how long submit_at_once() tests an operation before it becomes a job
  bool listed_ = false;                 ///< whether HostProgress has the group in its list
  bool all_ranks_know_ = false;  ///< the ranks call different operations, which each has found out; nobody waits then
  friend class HostProgress;
};

/// Makes a communicator of the plan's ranks, or of the engine's world.
std::shared_ptr<EngineGroup> make_host_group(const Engine& engine, DeviceState& device, const BootstrapPlan& plan,
                                             std::chrono::nanoseconds timeout, const char* operation);

}  // namespace anyplace::detail
