// SPDX-License-Identifier: Apache-2.0
//
// anyplace_compile_helper: the processes in which a compiler's plugin compiles. A crash, an endless template or a
// library that calls exit ends them and nothing else. The core starts it (core/compile/run.cpp), limits its time, and
// sends SIGTERM when that is over.
//
//   anyplace_compile_helper FOLDER HEADERS MEMORY APPLICATION
//
// FOLDER has the file "request" (core/compile/job.h) and an empty "compiler"; it gets "result". HEADERS is the folder
// of the dialect's, MEMORY a number of bytes, and APPLICATION the number of the process that starts this one.
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "anyplace/backend/compiler.h"
#include "compile/call_compiler.h"
#include "compile/job.h"
#include "compile/whole_file.h"
#include "supervisor.h"

namespace {

using anyplace::detail::CompileJob;
using anyplace::detail::CompileResult;

constexpr rlim_t file_limit = rlim_t{2} << 30;

std::string folder, headers;
rlim_t memory_limit = 0;
std::string message;

void leave_message(void* /*context*/, std::int64_t /*code*/, const char* vendor_name, const char* text) {
  message = text == nullptr ? "" : text;
  if (vendor_name != nullptr && *vendor_name != '\0') message += std::string(" (") + vendor_name + ")";
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min(now.rlim_max, most);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

void limit_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // A sanitizer's address space is larger than any limit.
#elif defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  limit(RLIMIT_AS, memory_limit);
#endif
#else
  limit(RLIMIT_AS, memory_limit);
#endif
}

CompileResult failed(std::string why) {
  CompileResult result;
  result.status = ANYPLACE_STATUS_BACKEND_FAILED;
  result.message = std::move(why);
  return result;
}

/// Returns whether it could.
bool write_result(const CompileResult& result) {
  const std::string made = folder + "/result.new";
  return anyplace::detail::write_whole_file(made, to_records(result)) == 0 &&
         std::rename(made.c_str(), (folder + "/result").c_str()) == 0;
}

CompileResult compile(const CompileJob& job) {
  void* const plugin = dlopen(job.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return failed(dlerror());
  const auto entry = reinterpret_cast<anyplace_compiler_entry_function>(dlsym(plugin, ANYPLACE_COMPILER_ENTRY_SYMBOL));
  if (entry == nullptr) return failed(job.plugin + " has no symbol " ANYPLACE_COMPILER_ENTRY_SYMBOL);
  static constexpr anyplace_compiler_host host{
      sizeof(host), ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR, 0, nullptr, leave_message};
  anyplace_compiler_table table{};
  table.struct_size = sizeof(table);
  CompileResult result;
  result.status = entry(&host, &table);
  if (result.status == ANYPLACE_STATUS_OK) {
    result = call_compiler(table, job, headers, folder + "/compiler");
  }
  result.message = message;
  return result;
}

void work() {
  limit_memory();
  limit(RLIMIT_FSIZE, file_limit);
  limit(RLIMIT_CORE, 0);
  CompileResult result;
  try {
    const std::optional<std::string> request = anyplace::detail::read_whole_file(folder + "/request", SIZE_MAX);
    const std::optional<CompileJob> job = request ? anyplace::detail::job_of(*request) : std::nullopt;
    result = job ? compile(*job) : failed("the request can't be read");
  } catch (const std::bad_alloc&) {
    result.status = ANYPLACE_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    result = failed(exception.what());
  }
  if (write_result(result)) return;
  std::printf("the result can't be written: %s\n", std::strerror(errno));
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: anyplace_compile_helper FOLDER HEADERS MEMORY APPLICATION\n");
    return 2;
  }
  folder = words[1];
  headers = words[2];
  memory_limit = std::strtoull(words[3], nullptr, 10);
  const auto application = static_cast<pid_t>(std::strtol(words[4], nullptr, 10));
  const anyplace::compilers::Ended ended = anyplace::compilers::supervise(application, folder, work);
  if (access((folder + "/result").c_str(), F_OK) == 0) return 0;
  std::string why = "its process ended without a result";
  if (ended.signal != 0) {
    why = std::string("its process was ended by signal ") + std::to_string(ended.signal) + " (" +
          strsignal(ended.signal) + ")";
  }
  return write_result(failed(why + (ended.said.empty() ? "" : ", and has said: " + ended.said))) ? 0 : 1;
}
