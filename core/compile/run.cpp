// SPDX-License-Identifier: Apache-2.0
#include "compile/run.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "compile/whole_file.h"
#include "plugins/plugin_search.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "runtime/text.h"

extern char** environ;

namespace anyplace::detail {
namespace {

constexpr const char* operation = "compile";
constexpr const char* helper_name = "anyplace_compile_helper";
constexpr std::size_t output_limit = 16 * 1024;
constexpr std::size_t result_limit = std::size_t{2} << 30;

[[noreturn]] void fail_to_run(const std::string& what, int number) {
  fail(number == ENOMEM || number == EAGAIN ? ErrorCode::out_of_memory : ErrorCode::backend_failed, "", operation,
       fmt::format("{}: {}", what, std::generic_category().message(number)));
}

/// A folder that is deleted with all that is in it.
class WorkFolder {
 public:
  WorkFolder() {
    const char* const variable = ::secure_getenv("TMPDIR");
    path_ = fmt::format("{}/anyplace-compile-XXXXXX", variable != nullptr && *variable == '/' ? variable : "/tmp");
    if (::mkdtemp(path_.data()) == nullptr) fail_to_run("can't make the folder " + path_, errno);
  }
  WorkFolder(const WorkFolder&) = delete;  // it deletes the folder
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;  // there is nobody to tell
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Where the helper is: beside the plugins, in one of the folders that are searched for them.
std::string helper_path() {
  for (const SearchDirectory& directory : search_path().directories) {
    std::string path = directory.path + "/" + helper_name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  fail(
      ErrorCode::library_missing, "", operation,
      fmt::format("the program {} isn't beside the plugins\ninstall anyplace whole\nsee docs/kernels.md", helper_name));
}

/// The helper's process and all that it starts, which are a process group. Destroying it ends them.
class HelperProcess {
 public:
  HelperProcess(const std::string& path, std::vector<std::string> words, const std::string& output) {
    // The writing end is closed when the helper and all that it started have ended, which wait() sees even in a process
    // that ignores SIGCHLD.
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail_to_run("can't make a pipe", errno);
    life_ = ends[0];
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    constexpr int life_in_helper = 3;
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], life_in_helper);
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, life_in_helper + 1);  // the application's
#endif
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&process_, path.c_str(), &actions, &attributes, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(ends[1]);
    if (error != 0) {
      ::close(life_);
      fail_to_run("can't start " + path, error);
    }
  }
  HelperProcess(const HelperProcess&) = delete;  // it ends the process
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess() {
    ::kill(-process_, SIGKILL);
    int status = 0;
    while (!reaped_ && ::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(life_);
  }
  /// Waits for the end of all. Returns false if time ran out first.
  bool wait(const Deadline& deadline) {
    while (true) {
      pollfd one{life_, POLLIN, 0};
      const std::uint64_t left = deadline.left() / 1'000'000;
      const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::uint64_t>(left + 1, 60'000)));
      if (ready > 0) break;
      if (ready < 0 && errno != EINTR) fail_to_run("can't wait for the compiler", errno);
      if (deadline.left() == 0) return false;
    }
    while (::waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return true;
  }
  /// The signal that ended the helper; 0 if none did, or that isn't known.
  int signal() const noexcept { return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0; }

 private:
  pid_t process_ = -1;
  int life_ = -1;
  int status_ = 0;
  bool reaped_ = false;
};

}  // namespace

CompileResult run_compiler(const CompileJob& job, std::chrono::nanoseconds timeout, std::uint64_t memory_limit,
                           const std::string& compiler) {
  const std::string path = helper_path();
  const WorkFolder folder;
  const std::string request = folder / "request", done = folder / "result", output = folder / "output";
  const std::string own = folder / "folder";
  if (const int error = write_whole_file(request, to_records(job))) fail_to_run("can't write " + request, error);
  if (::mkdir(own.c_str(), 0700) != 0) fail_to_run("can't make the folder " + own, errno);
  HelperProcess helper(path, {path, request, done, own, std::to_string(memory_limit)}, output);
  if (!helper.wait(Deadline(to_timeout_ns(timeout)))) {
    fail(ErrorCode::timeout, "", operation,
         fmt::format("the compiler {} didn't end within {} s\nCompileOptions::timeout says how long to wait", compiler,
                     std::chrono::duration<double>(timeout).count()));
  }
  if (const std::optional<std::string> records = read_whole_file(done, result_limit)) {
    if (std::optional<CompileResult> result = result_of(*records)) return std::move(*result);
  }
  const std::string said = read_beginning(output, output_limit);
  const int signal = helper.signal();
  fail(ErrorCode::backend_failed, "", operation,
       fmt::format("the compiler {} {}{}{}\nCompileOptions::memory_limit may be too small, or another compiler can be "
                   "named with CompileOptions::compiler",
                   compiler,
                   signal != 0 ? fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal))
                               : "ended without a result",
                   said.empty() ? "" : ": ", one_line(said)));
}

}  // namespace anyplace::detail
