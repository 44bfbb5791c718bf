// SPDX-License-Identifier: Apache-2.0
#include "compile/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "anyplace/backend/kit/trust.h"
#include "compile/call_compiler.h"
#include "compile/dialect.h"
#include "compile/whole_file.h"
#include "plugins/plugin_search.h"
#include "runtime/call.h"
#include "runtime/deadline.h"
#include "runtime/process.h"

extern char** environ;
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace anyplace::detail {
namespace {

constexpr const char* operation = "compile";
constexpr const char* helper_name = "anyplace_compile_helper";
constexpr std::size_t result_limit = std::size_t{2} << 30;

[[noreturn]] void fail_to_run(const std::string& what, int number) {
  fail(number == ENOMEM || number == EAGAIN ? ErrorCode::out_of_memory : ErrorCode::backend_failed, "", operation,
       fmt::format("{}: {}", what, std::generic_category().message(number)));
}

/// A folder for the files of a compilation. It is deleted with all that is in it.
class WorkFolder {
 public:
  WorkFolder() {
    const char* const variable = ::secure_getenv("TMPDIR");
    path_ = fmt::format("{}/anyplace-compile-XXXXXX", variable != nullptr && *variable == '/' ? variable : "/tmp");
    if (::mkdtemp(path_.data()) == nullptr) fail_to_run("can't make the folder " + path_, errno);
    if (const std::string path = *this / "compiler"; ::mkdir(path.c_str(), 0700) != 0) {
      const int error = errno;
      remove();
      fail_to_run("can't make the folder " + path, error);
    }
  }
  WorkFolder(const WorkFolder&) = delete;  // it deletes the folder
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() { remove(); }
  const std::string& path() const noexcept { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }
  void write(const char* name, std::string_view bytes) const {
    const std::string path = *this / name;
    if (const int error = write_whole_file(path, bytes)) fail_to_run("can't write " + path, error);
  }

 private:
  void remove() const noexcept {
    std::error_code ignored;  // there is nobody to tell
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path_;
};

/// The helper's environment, whose texts are the process's own. With raised privileges no variable of the user's may
/// lead a compiler anywhere. What is preloaded is meant for the application: a sanitizer's or a profiler's library
/// would run in each program of a compiler, and fail on the limit of its memory.
std::vector<char*> environment_of_helper() {
  static char path[] = "PATH=/usr/bin:/bin";
  std::vector<char*> variables;
  if (::getauxval(AT_SECURE) != 0) {
    variables.push_back(path);
  } else {
    for (char** one = environ; *one != nullptr; ++one) {
      if (!std::string_view(*one).starts_with("LD_PRELOAD=")) variables.push_back(*one);
    }
  }
  variables.push_back(nullptr);
  return variables;
}

/// The helper's process, which ends all that it has started (compilers/helper). Destroying this ends it.
class HelperProcess {
 public:
  explicit HelperProcess(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#if defined(__GLIBC_PREREQ) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);  // the application's
#endif
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawn(&process_, pointers.front(), &actions, &attributes, pointers.data(),
                                    environment_of_helper().data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0) fail_to_run("can't start " + words.front(), error);
    end_file_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
  }
  HelperProcess(const HelperProcess&) = delete;  // it ends the process
  HelperProcess& operator=(const HelperProcess&) = delete;
  ~HelperProcess() {
    if (!has_ended_) ::kill(process_, SIGTERM);
    while (!has_ended_ && ::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (end_file_ >= 0) ::close(end_file_);
  }
  /// Waits for the end. Returns false if time ran out first.
  bool wait(const Deadline& deadline) {
    // An application that ignores SIGCHLD, or waits for any process, may have been told of the end: that is ECHILD.
    while (::waitpid(process_, nullptr, WNOHANG) == 0) {
      const std::uint64_t left_ms = deadline.left() / 1'000'000 + 1;
      constexpr std::uint64_t longest_ms = 60'000, without_end_file_ms = 5;  // Linux before 5.3 has no pidfd_open
      pollfd one{end_file_, POLLIN, 0};
      ::poll(&one, 1, static_cast<int>(std::min(left_ms, end_file_ >= 0 ? longest_ms : without_end_file_ms)));
      if (deadline.left() == 0) return false;
    }
    has_ended_ = true;
    return true;
  }

 private:
  pid_t process_ = -1;
  int end_file_ = -1;  ///< can be read when the process has ended
  bool has_ended_ = false;
};

[[noreturn]] void fail_without(const std::string& what) {
  fail(ErrorCode::library_missing, "", operation,
       fmt::format("{} isn't beside the plugins{}\ninstall anyplace whole\nsee docs/kernels.md", what, not_searched()));
}

/// Throws if another user could have written the file, which is of this library's installation.
void require_trusted(const std::string& path) {
  if (const backend::Distrust found = backend::distrust_of(path)) {
    fail(ErrorCode::plugin_refused, "", operation, fmt::format("{}: {}\n{}", path, found.problem, found.remedy));
  }
}

std::string helper_path() {
  std::string barred;  // the first that can't be executed
  for (const SearchDirectory& directory : search_path().directories) {
    std::string path = directory.path + "/" + helper_name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    require_trusted(path);
    if (::access(path.c_str(), X_OK) == 0) return path;
    if (barred.empty()) barred = std::move(path);
  }
  if (barred.empty()) fail_without(fmt::format("the program {}", helper_name));
  fail(ErrorCode::library_missing, "", operation,
       fmt::format("{} can't be executed\nits mode has to allow that, and its file system not be mounted noexec",
                   barred));
}

/// The folder with the dialect's headers. Those of another version of anyplace are passed over: the cache takes images
/// for ones that these headers made.
std::string dialect_folder() {
  for (const SearchDirectory& directory : search_path().directories) {
    std::string path = directory.path + "/" + dialect_folder_name;
    if (read_whole_file(path + "/sum", dialect_sum.size()) != dialect_sum) continue;
    require_trusted(path + "/sum");  // and the folder that it is in
    return path;
  }
  fail_without(fmt::format("the folder {} of this version", dialect_folder_name));
}

}  // namespace

CompileResult compile_in_helper(const CompileJob& job, const HelperLimits& limits, const std::string& compiler) {
  const WorkFolder folder;
  folder.write("request", to_records(job));
  HelperProcess helper({helper_path(), folder.path(), dialect_folder(), std::to_string(limits.memory_bytes),
                        std::to_string(::getpid())});
  if (!helper.wait(Deadline(to_timeout_ns(limits.timeout)))) {
    fail(ErrorCode::timeout, "", operation,
         fmt::format("the compiler {} didn't end within {} s\nCompileOptions::timeout says how long to wait", compiler,
                     std::chrono::duration<double>(limits.timeout).count()));
  }
  if (const std::optional<std::string> records = read_whole_file(folder / "result", result_limit)) {
    if (std::optional<CompileResult> result = result_of(*records)) return std::move(*result);
  }
  fail(ErrorCode::backend_failed, "", operation, fmt::format("{} ended without a result", helper_name));
}

CompileResult compile_here(const CompileJob& job, const anyplace_compiler_table& table) {
  const WorkFolder folder;
  const CallbackScope scope;  // the plugin may not call anyplace
  take_message();
  CompileResult result = call_compiler(table, job, dialect_folder(), folder / "compiler");
  const Message message = take_message();
  result.message = message.text + (message.vendor_name.empty() ? "" : " (" + message.vendor_name + ")");
  return result;
}

}  // namespace anyplace::detail
