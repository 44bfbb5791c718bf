// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "anyplace/version.h"

namespace anyplace::compilers {

const anyplace_compiler_host* host = nullptr;

anyplace_status refuse(anyplace_status status, const std::string& text) noexcept {
  host->leave_message(host->context, 0, nullptr, text.c_str());
  return status;
}

anyplace_status fill_table(const anyplace_compiler_host* given, anyplace_compiler_table& out, const char* name,
                           const char* description, std::uint32_t formats, std::uint32_t rank) noexcept {
  host = given;
  out.struct_size = std::min<std::uint32_t>(out.struct_size, sizeof(out));
  out.abi_major = ANYPLACE_COMPILER_ABI_MAJOR;
  out.abi_minor = ANYPLACE_COMPILER_ABI_MINOR;
  out.formats = formats;
  out.rank = rank;
  std::snprintf(out.name, sizeof(out.name), "%s", name);
  std::snprintf(out.version, sizeof(out.version), "%s", ANYPLACE_VERSION);
  std::snprintf(out.description, sizeof(out.description), "%s", description);
  return ANYPLACE_STATUS_OK;
}

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string find_program(const std::string& name) {
  const char* const variable = ::secure_getenv("PATH");
  std::string_view folders = variable != nullptr ? variable : "/usr/bin:/bin";
  while (!folders.empty()) {
    const std::size_t colon = std::min(folders.find(':'), folders.size());
    const std::string path = std::string(folders.substr(0, colon)) + "/" + name;
    folders.remove_prefix(std::min(colon + 1, folders.size()));
    if (path.front() == '/' && is_file(path) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

std::optional<std::string> named_program(const char* variable) {
  const char* const named = ::secure_getenv(variable);
  if (named == nullptr || *named == '\0') return std::nullopt;
  return *named == '/' ? std::string(named) : find_program(named);
}

std::string identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "gone";
  std::string identity = std::to_string(status.st_size) + " bytes of " + std::to_string(status.st_mtim.tv_sec) + "." +
                         std::to_string(status.st_mtim.tv_nsec);
  for (const char* const name : {"CPATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH"}) {
    if (const char* const value = ::secure_getenv(name)) identity += std::string(", ") + name + "=" + value;
  }
  return identity;
}

int run_program(const std::vector<std::string>& words, const std::string& folder, const anyplace_compile_sink& sink) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return 127;
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it mustn't outlive the helper
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char piece[16 * 1024];
  for (ssize_t got = 0; child > 0 && (got = ::read(ends[0], piece, sizeof(piece))) != 0;) {
    if (got > 0) sink.log(sink.context, piece, static_cast<std::uint64_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  if (child < 0) return 127;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

anyplace_status compile_by_program(const std::vector<std::string>& words, const anyplace_compile_request& request,
                                   const anyplace_compile_sink& sink) {
  const int status = run_program(words, request.folder, sink);
  if (status == 127) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't start " + words.front());
  constexpr int most_signals = 64;  // llvm-spirv exits with 255
  if (status > 128 && status <= 128 + most_signals) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED,
                  words.front() + " was ended by signal " + std::to_string(status - 128));
  }
  return status == 0 ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_COMPILE_FAILED;
}

bool read_file(const std::string& path, std::string& bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return file.good() || file.eof();
}

bool write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

anyplace_status give_image(const std::string& path, const anyplace_compile_sink& sink) {
  std::string image;
  if (!read_file(path, image)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + path);
  sink.image(sink.context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

void report_headers(const std::string& dependencies, const anyplace_compile_request& request,
                    const anyplace_compile_sink& sink) {
  std::string text;
  if (!read_file(dependencies, text)) return;
  const std::string headers = request.headers, folder = request.folder;
  std::string path;
  const auto end_path = [&] {
    const bool is_own = path.starts_with(headers) || path.starts_with(folder) || path.ends_with(':');
    if (path.starts_with("/") && !is_own) sink.header(sink.context, path.c_str());
    path.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size() && text[i + 1] == ' ') {
      path += text[++i];
    } else if (c == ' ' || c == '\n' || c == '\\') {
      end_path();
    } else {
      path += c;
    }
  }
  end_path();
}

std::string in_literal(std::string_view text) {
  std::string literal;
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal;
}

std::vector<std::string> common_words(const anyplace_compile_request& request, std::uint32_t least_standard) {
  std::vector<std::string> words{std::string("-std=c++") + std::to_string(std::max(request.standard, least_standard)),
                                 std::string("-I") + request.headers};
  for (const char* const folder : includes_of(request)) words.push_back(std::string("-I") + folder);
  for (const char* const define : defines_of(request)) words.push_back(std::string("-D") + define);
  return words;
}

std::vector<std::string> device_words(const anyplace_compile_request& request, std::uint32_t least_standard) {
  std::vector<std::string> words = common_words(request, least_standard);
  words.push_back(std::string("-I") + request.headers + "/device_only");
  return words;
}

}  // namespace anyplace::compilers
