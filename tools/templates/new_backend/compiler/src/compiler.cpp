// newname: compiles kernels for anyplace while a program runs. anyplace/backend/compiler.h has the rules.
//
// As it stands, the machine's C++ compiler makes an object file. It runs as a program, as most compilers can.
#include <anyplace/backend/compiler.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t made_format = ANYPLACE_IMAGE_NATIVE;
constexpr const char* program = "/usr/bin/c++";

const anyplace_compiler_host* host = nullptr;

anyplace_status refuse(anyplace_status status, const std::string& text) {
  host->leave_message(host->context, 0, nullptr, text.c_str());
  return status;
}

anyplace_status library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  struct stat status {};
  if (::stat(program, &status) != 0) {
    return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, std::string("there is no ") + program + ": apt-get install g++");
  }
  // The cache knows images by this text: it has to change when the compiler does.
  static thread_local std::string version;
  version = std::to_string(status.st_size) + " bytes of " + std::to_string(status.st_mtim.tv_sec);
  out->path = program;
  out->version = version.c_str();
  return ANYPLACE_STATUS_OK;
}

anyplace_status supports(void* /*self*/, std::uint32_t /*format*/, const char* architecture) {
  if (std::string(architecture) == "newname-1") return ANYPLACE_STATUS_OK;
  return refuse(ANYPLACE_STATUS_UNSUPPORTED,
                std::string("newname has no architecture '") + architecture + "'; one is newname-1");
}

/// Runs a program, and gives what it says to the log. Returns its exit status; 127 if it can't be started.
int run(const std::vector<std::string>& words, const char* folder, const anyplace_compile_sink& sink) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) return 127;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    if (::chdir(folder) == 0) ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof(piece))) != 0;) {
    if (got > 0) sink.log(sink.context, piece, static_cast<std::uint64_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  int status = 127 << 8;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/// Gives the sink the headers that the compiler has read, which -MD has written as "made.o: file file \ ...".
void report_headers(const std::string& dependencies, const anyplace_compile_request& request,
                    const anyplace_compile_sink& sink) {
  std::ifstream file(dependencies);
  for (std::string word; file >> word;) {
    const bool is_own = word.rfind(request.headers, 0) == 0 || word.rfind(request.folder, 0) == 0;
    if (word.front() == '/' && word.back() != ':' && !is_own) sink.header(sink.context, word.c_str());
  }
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  if (request->expression_count != 0) {
    return refuse(ANYPLACE_STATUS_UNSUPPORTED, "newname can't name kernels by expressions yet");
  }
  const std::string folder = request->folder;
  const std::string unit = folder + "/unit.cpp", made = folder + "/made.o", dependencies = folder + "/made.d";
  {
    std::ofstream file(unit, std::ios::binary);
    file << "#include <anyplace/device_code.h>\n#line 1 \"" << request->name << "\"\n";
    file.write(request->source, static_cast<std::streamsize>(request->source_bytes));
    if (!file.flush()) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write " + unit);
  }
  const std::uint32_t standard = std::max<std::uint32_t>(request->standard, 20);
  std::vector<std::string> words{request->library, "-std=c++" + std::to_string(standard), "-c", "-MD", "-MF",
                                 dependencies,     std::string("-I") + request->headers};
  const auto add = [&](const char* before, const char* const* texts, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) words.push_back(std::string(before) + texts[i]);
  };
  add("-I", request->includes, request->include_count);
  add("-D", request->defines, request->define_count);
  words.push_back((request->flags & ANYPLACE_COMPILE_DEBUG) != 0 ? "-g" : "-O2");
  if ((request->flags & ANYPLACE_COMPILE_FAST_MATH) != 0) words.push_back("-ffast-math");
  add("", request->options, request->option_count);
  words.insert(words.end(), {"-o", made, unit});

  const int status = run(words, request->folder, *sink);
  if (status == 127) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string("can't run ") + request->library);
  if (status != 0) return ANYPLACE_STATUS_COMPILE_FAILED;
  report_headers(dependencies, *request, *sink);
  std::ifstream file(made, std::ios::binary);
  const std::string image((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (image.empty()) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + made);
  sink->image(sink->context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* given,
                                                   anyplace_compiler_table* table) {
  host = given;
  table->struct_size = std::min<std::uint32_t>(table->struct_size, sizeof(*table));
  table->abi_major = ANYPLACE_COMPILER_ABI_MAJOR;
  table->abi_minor = ANYPLACE_COMPILER_ABI_MINOR;
  table->formats = 1u << made_format;
  table->rank = 0;  // the vendor's own is asked first
  std::snprintf(table->name, sizeof(table->name), "newname");
  std::snprintf(table->version, sizeof(table->version), "%s", NEWNAME_COMPILER_VERSION);
  std::snprintf(table->description, sizeof(table->description), "newname, by the machine's C++ compiler");
  table->library = library;
  table->supports = supports;
  table->compile = compile;
  return ANYPLACE_STATUS_OK;
}
