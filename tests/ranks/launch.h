// SPDX-License-Identifier: Apache-2.0
// Starting the ranks of a case: as processes of this one's, or by mpirun.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"

namespace test {

/// A port that nothing listens on at the moment.
inline int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(socket);
  return ntohs(address.sin_port);
}

/// Ranks as torchrun starts them. Their ends in the order of ranks.
inline std::vector<Ended> run_ranks(int size, const std::vector<std::string>& words, const Variables& variables = {}) {
  const std::string port = std::to_string(free_port());
  std::vector<Process> programs;
  for (int rank = 0; rank < size; ++rank) {
    Variables all = variables;
    all.insert({{"RANK", std::to_string(rank)},
                {"WORLD_SIZE", std::to_string(size)},
                {"MASTER_ADDR", "127.0.0.1"},
                {"MASTER_PORT", port}});
    programs.emplace_back(words, all);
  }
  std::vector<Ended> ends;
  for (Process& program : programs) ends.push_back(program.end());
  return ends;
}

/// Whether there is an mpirun; else the case is left out, and says so.
inline bool has_mpirun() {
  if (std::string(RANKS_MPIRUN) != "") return true;
  std::cout << "ANYPLACE_TEST_SKIPPED: mpirun is missing (Debian: apt-get install openmpi-bin), or this is a build "
               "with sanitizers\n";
  return false;
}

/// mpirun, with the folder that it has for itself: Open MPI fails if two of them make the one of this machine and user
/// at the same time.
struct Mpirun {
  TempDir session;
  Process program;
  Mpirun(int size, const std::vector<std::string>& words, const Variables& variables = {},
         const std::vector<std::string>& more = {})
      : program(command(size, words, more), all_variables(variables)) {}

 private:
  static std::vector<std::string> command(int size, const std::vector<std::string>& words,
                                          const std::vector<std::string>& more) {
    std::vector<std::string> all{RANKS_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-n", std::to_string(size)};
    // The one that MPI's own ranks see: they are all on this machine.
    all.insert(all.end(), {"--mca", "btl", "self,vader"});
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  Variables all_variables(Variables variables) const {
    variables.insert({"ANYPLACE_COMMUNICATOR_CHECK", "1"});
    variables.insert({"OMPI_MCA_orte_tmpdir_base", session.path().string()});
    return variables;
  }
};

/// Ranks that mpirun starts, whose output it puts together.
inline Ended run_mpi(int size, const std::vector<std::string>& words, const Variables& variables = {},
                     const std::vector<std::string>& more = {}) {
  return Mpirun(size, words, variables, more).program.end();
}

}  // namespace test
