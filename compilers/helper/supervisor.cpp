// SPDX-License-Identifier: Apache-2.0
#include "supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace anyplace::compilers {
namespace {

constexpr std::size_t said_limit = 16 * 1024;

/// Ends the process group, and waits until its processes are gone: they could write into the folder until then.
int end_group(pid_t leader) {
  ::kill(-leader, SIGKILL);
  int status = 0, any = 0;
  for (pid_t ended = 0; (ended = ::waitpid(-leader, &any, 0)) > 0 || errno == EINTR;) {
    if (ended == leader) status = any;
  }
  return status;
}

[[noreturn]] void leave(pid_t worker, const std::string& folder) {
  if (worker > 0) end_group(worker);
  std::error_code ignored;  // there is nobody to tell
  std::filesystem::remove_all(folder, ignored);
  ::_exit(1);
}

[[noreturn]] void become_worker(const sigset_t& signals, int output, void (*body)()) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  body();
  ::exit(0);
}

/// Keeps the beginning of what comes out of the pipe now, and drops the rest. Returns false at its end.
bool drain(int pipe, std::string& said) {
  char piece[16 * 1024];
  const ssize_t got = ::read(pipe, piece, sizeof(piece));
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  said.append(piece, std::min(static_cast<std::size_t>(got), said_limit - said.size()));
  return got > 0;
}

}  // namespace

Ended supervise(pid_t application, const std::string& folder, void (*body)()) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != application) leave(0, folder);  // it ended before prctl()
  // Processes whose parent in the group ends become this one's, so that it can wait for them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Ended ended;
  int output[2];
  const int signal_file = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_file < 0 || ::pipe2(output, O_CLOEXEC | O_NONBLOCK) != 0) return ended;
  const pid_t worker = ::fork();
  if (worker == 0) {
    ::fcntl(output[1], F_SETFL, 0);  // the compiler's writes wait
    become_worker(signals, output[1], body);
  }
  ::close(output[1]);
  if (worker < 0) return ended;
  ::setpgid(worker, worker);  // here, too: it may not have done so when its group is to be ended
  pollfd files[] = {{signal_file, POLLIN, 0}, {output[0], POLLIN, 0}};
  for (bool is_done = false; !is_done;) {
    ::poll(files, 2, -1);
    for (signalfd_siginfo one{}; ::read(signal_file, &one, sizeof(one)) == static_cast<ssize_t>(sizeof(one));) {
      if (one.ssi_signo == SIGTERM) leave(worker, folder);
      siginfo_t info{};
      is_done = ::waitid(P_PID, static_cast<id_t>(worker), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    }
    if (files[1].fd >= 0 && files[1].revents != 0 && !drain(output[0], ended.said)) files[1].fd = -1;
  }
  const int status = end_group(worker);
  while (files[1].fd >= 0 && ::poll(&files[1], 1, 0) > 0 && drain(output[0], ended.said)) {
  }
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  return ended;
}

}  // namespace anyplace::compilers
