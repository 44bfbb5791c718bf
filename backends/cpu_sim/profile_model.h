// SPDX-License-Identifier: Apache-2.0
//
// What operations take on the devices of a Profile, alone and beside each other. All of it is pure: the same operations
// give the same times everywhere, and no thread of the simulator is involved.
//
// The model. A kernel alone takes the longer one of its bytes over the memory's bandwidth and its operations over the
// device's rate, or the time that it was given. Kernels that run beside each other on a device share it equally. A copy
// takes its link's latency, and then its bytes over the link's bandwidth, which the copies that use it share equally;
// one between devices goes at the slower of its shares of what the one sends and what the other receives. A device runs
// as many kernels, and as many copies of each direction, at one time as the profile says; those that wait are taken by
// their levels, and those of one level in the order in which they became ready.
//
// A DeviceModel is given operations while time goes on. What it says of the future holds until it is given more.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "profile.h"

namespace anyplace::cpu_sim {

struct ModelOperation {
  enum class Kind : std::uint8_t { nothing, kernel, to_device, to_host, peer };

  Kind kind = Kind::nothing;  ///< `nothing` takes no time and no engine.
  std::uint32_t device = 0;   ///< that runs the kernel or whose memory is copied; of a peer's copy: the sender
  std::uint32_t receiver = 0;
  unsigned level = 0;                ///< Lower ones are more urgent.
  double bytes = 0;                  ///< that a copy copies, or that a kernel reads and writes
  double flops = 0;                  ///< of a kernel
  double given_ns = -1;              ///< If it isn't negative, a kernel takes this time.
  double ready_ns = 0;               ///< It begins at this time at the earliest.
  std::vector<std::uint32_t> after;  ///< It begins when these are complete: indexes of earlier operations of its job.
};

struct ModelTime {
  double begin_ns = 0;
  double end_ns = 0;
};

/// Return what an operation takes that runs alone. A copy of a profile without a peers' link goes by way of the host.
double kernel_ns(const Profile& profile, double bytes, double flops) noexcept;
double copy_ns(const Profile& profile, ModelOperation::Kind kind, double bytes) noexcept;

/// It is for one thread at a time, and keeps the profile's address.
class DeviceModel {
 public:
  /// A job is one operation or several, as those of a graph. It is complete when all of them are.
  using Job = std::uint64_t;

  explicit DeviceModel(const Profile& profile) noexcept : profile_(&profile) {}

  double now_ns() const noexcept { return now_; }
  /// Adds a job, now. Throws std::invalid_argument for an operation that comes after itself or a later one.
  Job add(std::vector<ModelOperation> operations);
  /// Returns when the job ends if no other one is added.
  double end_ns(Job job);
  /// Lets time go on. An earlier time than now_ns() changes nothing.
  void advance(double to_ns);
  /// Lets time go on until the job is complete, and forgets it. Returns when its operations began and ended.
  std::vector<ModelTime> take(Job job);

 private:
  using Kind = ModelOperation::Kind;
  struct Step {
    ModelOperation operation;
    ModelTime time;
    bool running = false;
    bool done = false;
    double begins_moving = 0;  // A copy's latency is over then.
    double left = 0;           // nanoseconds of a kernel that runs alone, or bytes of a copy
    double rate = 0;           // of what is left, in a nanosecond
  };
  using Steps = std::vector<Step>;
  /// A resource that operations share: which one, and of which device or link.
  enum class Shared : std::uint8_t { kernels, to_device, to_host, sends, receives };
  using Share = std::pair<Shared, std::uint32_t>;
  using Engine = std::pair<Kind, std::uint32_t>;

  template <class Use>
  void for_each_step(Use use);
  static double end_of(const Steps& steps) noexcept;
  static double ready_ns(const Steps& steps, const Step& step) noexcept;
  std::uint32_t slots(Kind kind) const noexcept;
  bool moves(const Step& step) const noexcept;
  std::vector<Share> shares_of(const ModelOperation& operation) const;
  void begin_ready();
  void begin(Step& step);
  void set_rates();
  double next_event();
  void move_to(double ns);

  const Profile* profile_;
  std::map<Job, Steps> jobs_;
  std::map<Job, double> ends_;  // It is empty where what was known doesn't hold any more.
  Job last_ = 0;
  double now_ = 0;
};

}  // namespace anyplace::cpu_sim
