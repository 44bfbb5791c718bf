// SPDX-License-Identifier: Apache-2.0
// A compiler that does what its source says, whose first word is a name of one of the things below.
#include <anyplace/backend/compiler.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

const anyplace_compiler_host* host = nullptr;

anyplace_status library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  out->path = "/usr/lib/unruly";
  out->version = "1";
  return ANYPLACE_STATUS_OK;
}

anyplace_status take_memory() {
  std::vector<std::string> all;
  while (true) all.emplace_back(std::size_t{64} << 20, 'x');
}

anyplace_status fill_disk(const std::string& folder) {
  const int file = open((folder + "/large").c_str(), O_WRONLY | O_CREAT, 0600);
  constexpr off_t at = off_t{4} << 30;  // of a file that takes no room up to there
  return pwrite(file, "x", 1, at) == 1 ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_BACKEND_FAILED;
}

anyplace_status print_without_end() {
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 1024; ++i) std::fwrite(piece.data(), 1, piece.size(), stdout);
  std::fflush(stdout);
  std::abort();
}

anyplace_status log_without_end(const anyplace_compile_sink& sink) {
  const std::string piece(1 << 20, 'x');
  sink.log(sink.context, "the beginning\n", 14);
  for (int i = 0; i < 1024; ++i) sink.log(sink.context, piece.data(), piece.size());
  return ANYPLACE_STATUS_COMPILE_FAILED;
}

/// Starts a process that ignores what can be ignored, writes its number into the file that the name of the source says,
/// and waits with it.
anyplace_status hang(const char* file) {
  signal(SIGTERM, SIG_IGN);
  if (fork() == 0) {
    std::ofstream(std::string(file) + ".new") << getpid() << " " << getppid();
    std::rename((std::string(file) + ".new").c_str(), file);
  }
  while (true) pause();
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  const std::string_view text(request->source, request->source_bytes);
  const std::string_view word = text.substr(0, text.find_first_of(" \n"));
  if (word == "crash") {
    signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would exit instead
    raise(SIGSEGV);
  }
  if (word == "exit") exit(0);
  if (word == "throw") throw std::runtime_error("thrown by the compiler");
  if (word == "memory") return take_memory();
  if (word == "disk") return fill_disk(request->folder);
  if (word == "print") return print_without_end();
  if (word == "log") return log_without_end(*sink);
  if (word == "hang") return hang(request->name);
  if (word == "nothing") return ANYPLACE_STATUS_OK;
  if (word == "status") return 12345;
  if (word == "junk") {
    sink->image(sink->context, "no image", 8);
    return ANYPLACE_STATUS_OK;
  }
  host->leave_message(host->context, 7, "UNRULY_WORD", "it doesn't know the word");
  return ANYPLACE_STATUS_INTERNAL;
}

}  // namespace

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* given,
                                                   anyplace_compiler_table* table) {
  host = given;
  table->struct_size = sizeof(*table);
  table->abi_major = ANYPLACE_COMPILER_ABI_MAJOR;
  table->abi_minor = ANYPLACE_COMPILER_ABI_MINOR;
  table->formats = 1u << ANYPLACE_IMAGE_SHARED_OBJECT;
  table->rank = 5;
  std::strcpy(table->name, "unruly");
  std::strcpy(table->version, "1");
  std::strcpy(table->description, "does what its source says");
  table->library = library;
  table->compile = compile;
  return ANYPLACE_STATUS_OK;
}
