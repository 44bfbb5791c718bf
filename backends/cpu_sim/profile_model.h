// SPDX-License-Identifier: Apache-2.0
//
// What operations take on the devices of a Profile, alone and beside each other. All of it is pure: the same operations
// give the same times everywhere, and no thread of the simulator is involved.
//
// The model. A kernel alone takes the longer one of its bytes over the memory's bandwidth and its operations over the
// device's rate, or the time that it was given. Kernels that run beside each other on a device share it equally. A copy
// takes its link's latency, and then its bytes over the link's bandwidth, which the copies that use it share equally;
// one between devices goes at the slower of its shares of what the one sends and what the other receives. A device runs
// as many kernels, and as many copies of each direction, at one time as the profile says; those that wait are taken in
// the order in which they became ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile.h"

namespace anyplace::cpu_sim {

struct ModelOperation {
  enum class Kind : std::uint8_t { kernel, to_device, to_host, peer };

  Kind kind = Kind::kernel;
  std::uint32_t device = 0;  ///< that runs the kernel or whose memory is copied; of a peer's copy: the sender
  std::uint32_t receiver = 0;
  double bytes = 0;                  ///< that a copy copies, or that a kernel reads and writes
  double flops = 0;                  ///< of a kernel
  double given_ns = -1;              ///< If it isn't negative, a kernel takes this time.
  double issued_ns = 0;              ///< The host has submitted it at this time.
  std::vector<std::uint32_t> after;  ///< It begins when these are complete: indexes of earlier operations.
};

struct ModelTime {
  double begin_ns = 0;
  double end_ns = 0;
};

/// Return what an operation takes that runs alone. A copy of a profile without a peers' link goes by way of the host.
double kernel_ns(const Profile& profile, double bytes, double flops) noexcept;
double copy_ns(const Profile& profile, ModelOperation::Kind kind, double bytes) noexcept;

/// Returns when each operation begins and ends. Throws std::invalid_argument for a device that the profile doesn't have
/// and an operation that comes after itself or a later one.
std::vector<ModelTime> simulate(const Profile& profile, std::span<const ModelOperation> operations);

}  // namespace anyplace::cpu_sim
