// SPDX-License-Identifier: Apache-2.0
//
// MpiGroup: a communicator over MPI, and MpiJob, one piece of work of a stream that it does.
//
// A job waits until its stream's earlier work is done and the group's earlier jobs have started, so that all ranks
// start a group's jobs in the order of the calls; then it is started, tested, and ends: its stream, which was held,
// goes on. What is in memory of a device that MPI can't reach is copied to pinned host memory before and back
// afterwards, as work of the stream.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "anyplace/memory.h"
#include "ranks/engine.h"
#include "ranks/mpi_runtime.h"
#include "ranks/small_reduce.h"
#include "streams/cross_wait.h"

namespace anyplace::detail {

/// What ranks compare before they start a job, where they were asked to: equal at all of them.
struct MpiHeader {
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::uint64_t rest = 0;  ///< of the job's other parts
  std::int32_t root = 0;
  std::uint8_t what = 0;
  std::uint8_t type = 0;
  std::uint8_t reduction = 0;
  std::uint8_t parts = 0;
};

struct MpiJob {
  std::vector<Part> parts;  ///< their addresses are the host's
  std::vector<HostBuffer> staged;
  std::vector<std::vector<std::byte>> staged_plainly;
  std::uint64_t stream_id = 0;
  std::shared_ptr<CrossWait> wait;
  std::shared_ptr<MpiJob> next;    ///< becomes ready when this is done. Under Calls.
  std::atomic<bool> ready{false};  ///< the stream's earlier work is done

  // -- Under MpiRuntime::Calls.
  enum class State { queued, checking, running, done } state = State::queued;
  Deadline::Clock::time_point deadline{};
  std::vector<MpiHandle> requests;
  std::unique_ptr<SmallReduce> small;  ///< an all_reduce that is done that way
  std::uint64_t begun = 0;             ///< elements of an all_reduce that is done piece by piece; 0: it isn't
  MpiHeader header;
  std::vector<MpiHeader> headers;
};

class MpiGroup final : public EngineGroup, public std::enable_shared_from_this<MpiGroup> {
 public:
  MpiGroup(MpiRuntime& runtime, MpiHandle comm, DeviceState& device, int rank, int size,
           std::chrono::nanoseconds timeout);
  ~MpiGroup() override;

  void require(const Part& part, const char* operation) const override;
  void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) override;
  bool submit_at_once(const Pin<StreamState>& stream, const Part& part, const char* operation) override;
  std::shared_ptr<EngineGroup> split(int color, int key, const char* operation) override;
  bool idle() override;
  bool wait(const Deadline& deadline) override;
  void end(const Error& error) noexcept override;

  using Signals = std::vector<std::shared_ptr<CrossWait>>;
  /// One look at the jobs, by a thread that waits for one or by another. Under Calls. What is done is added to `done`,
  /// for signal(). True if a job is started.
  bool step(Deadline::Clock::time_point now, bool by_waiter, Signals& done) noexcept;
  /// Under Calls.
  bool has_jobs() const noexcept { return !jobs_.empty(); }
  /// Lets the streams go on. Not under Calls.
  void signal(const Signals& done) const noexcept;

 private:
  bool stages(anyplace_address address) const noexcept;
  void stage(MpiJob& job, const Pin<StreamState>& stream, const char* operation);
  void unstage(const MpiJob& job, const std::vector<Part>& parts, StreamView stream) const;
  anyplace_address host_memory(MpiJob& job, std::uint64_t bytes) const;
  void arrange_ready(const std::shared_ptr<MpiJob>& job, const Pin<StreamState>& stream, const char* operation);
  void enlist(const std::shared_ptr<MpiJob>& job, StreamState& stream, const char* operation);
  bool look_for_a_while(SmallReduce& small, int& code) const;
  void abandon_spare() noexcept;
  void start(MpiJob& job);
  void start_parts(MpiJob& job);
  void start_small(MpiJob& job);
  void begin_small(SmallReduce& small, const Part& part, std::uint64_t sequence) const;
  void start_piece(MpiJob& job);
  int start_part(const Part& part, int tag, MpiHandle* request) const noexcept;
  void compare_headers(const MpiJob& job) const;
  bool test(MpiJob& job);
  void divide_average(const Part& part) const noexcept;
  void finish(MpiJob& job) const noexcept;
  /// Under Calls: fails, and takes all jobs out.
  void give_up(const Error& error, Signals& done) noexcept;

  MpiRuntime& runtime_;
  MpiHandle comm_;
  const bool checks_;       ///< ANYPLACE_COMMUNICATOR_CHECK
  const bool is_foreign_;   ///< MPI reaches the memory of the device, and the host doesn't
  const bool host_device_;  ///< MPI reaches the memory of the device
  const SmallPlan small_plan_;
  // -- Under MpiRuntime::Calls.
  std::deque<std::shared_ptr<MpiJob>> jobs_;
  std::uint64_t sequence_ = 0;
  std::unique_ptr<SmallReduce> spare_;  ///< for the next small all_reduce that is done at once
  std::chrono::microseconds patience_;  ///< with a small all_reduce, before it becomes a job
  bool listed_ = false;                 ///< in the runtime's list
  friend class MpiRuntime;
};

/// Makes a communicator of all ranks of MPI's world. `rank` and `size` are what the ranks were given, or -1.
std::shared_ptr<EngineGroup> make_mpi_group(DeviceState& device, int rank, int size, std::chrono::nanoseconds timeout,
                                            const char* operation);

}  // namespace anyplace::detail
