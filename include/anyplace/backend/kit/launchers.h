// SPDX-License-Identifier: Apache-2.0
//
// Launchers start the ranks of a job, such as mpirun does, and tell each process by environment variables which rank it
// is. Their names are here alone, so that a simulator and a layer agree on it. Nothing is asked of MPI, which may not
// be there or not begun yet. Thread-safe.
#pragma once

#include <cstdlib>

namespace anyplace::backend {

/// A Launcher is a program that starts the ranks of a job.
struct Launcher {
  const char* name;  ///< for people
  const char* rank;  ///< the variable that has the process's rank
  const char* size;  ///< the variable that has the number of ranks
  /// The variable that has the number of ranks on this machine, or null.
  const char* ranks_here;
  /// The variables whose values tell the launcher's jobs apart, up to the first null. There may be none.
  const char* job[3];
};

/// The launchers in the order in which they are asked: a job of mpirun may run within one of Slurm.
inline constexpr Launcher launchers[] = {
    {"open mpi",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "PMIX_SERVER_TMPDIR"}},
    {"mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", {}},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr, {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

/// Returns the launcher that has started this process: the first one that has set both of its variables. Returns null
/// if none has.
inline const Launcher* launcher_of_process() noexcept {
  const auto is_set = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value != '\0';
  };
  for (const Launcher& launcher : launchers) {
    if (is_set(launcher.rank) && is_set(launcher.size)) return &launcher;
  }
  return nullptr;
}

}  // namespace anyplace::backend
