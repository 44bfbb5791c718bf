// SPDX-License-Identifier: Apache-2.0
//
// A Job is what launchers tell a process of the job that it is a rank of, by their environment variables. Nothing is
// asked of MPI, which may not be there or not begun yet.
#pragma once

#include <cstdint>
#include <string>

namespace anyplace::cpu_sim {

struct Job {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;      ///< It is 1 for a process that no launcher has started.
  std::string name;            ///< All ranks of the job have it, and no other job of this machine that runs now.
  bool is_on_machine = false;  ///< All ranks run on this machine.

  bool has_ranks() const noexcept { return size > 1; }

  /// Reads the variables of the process's launcher (backend/kit/launchers.h). Throws Failure(INVALID_ARGUMENT) for a
  /// rank or a size that isn't a number, or a rank that isn't below the size.
  static Job from_environment();
};

/// Returns the seed of a rank: that of the job for rank 0, and one of its own, made of both numbers, for each other.
std::uint64_t seed_of_rank(std::uint64_t seed, std::uint32_t rank) noexcept;

/// Returns the file's name for the rank: as it is for rank 0, and with the rank behind it for each other.
std::string file_of_rank(const std::string& path, const Job& job);

}  // namespace anyplace::cpu_sim
