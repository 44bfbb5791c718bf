// SPDX-License-Identifier: Apache-2.0
//
// anyplace_compile_helper: the process in which a compiler's plugin compiles. A crash, an endless template or a library
// that calls exit ends this process and nothing else. The core starts it (core/compile/run.cpp), limits its time, and
// ends its process group.
//
//   anyplace_compile_helper REQUEST RESULT FOLDER MEMORY
//
// REQUEST and RESULT are files of core/compile/job.h; FOLDER is empty and its own; MEMORY is a number of bytes. It
// exits with 0 once RESULT is there.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "anyplace/backend/compiler.h"
#include "compile/job.h"
#include "headers.h"

namespace {

using anyplace::detail::CompileJob;
using anyplace::detail::CompileResult;

constexpr std::size_t log_limit = std::size_t{4} << 20;
constexpr rlim_t file_limit = rlim_t{2} << 30;

CompileResult result;
std::string message;

void leave_message(void* /*context*/, std::int64_t /*code*/, const char* vendor_name, const char* text) {
  message = text == nullptr ? "" : text;
  if (vendor_name != nullptr && *vendor_name != '\0') message += std::string(" (") + vendor_name + ")";
}

void take_image(void* /*context*/, const void* bytes, std::uint64_t count) {
  result.image.assign(static_cast<const char*>(bytes), count);
}
/// Keeps the beginning, where the first error is.
void take_log(void* /*context*/, const char* text, std::uint64_t count) {
  const std::size_t room = log_limit - std::min(log_limit, result.log.size());
  result.log.append(text, std::min<std::size_t>(room, count));
}
void take_lowered(void* /*context*/, const char* expression, const char* name) {
  result.lowered.emplace_back(expression, name);
}
void take_header(void* /*context*/, const char* path) { result.headers.emplace_back(path); }

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, most);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &now);
}

bool write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

/// Makes a folder with the headers of the dialect; "" if the disk is full.
std::string make_headers(const std::string& folder) {
  const std::string headers = folder + "/headers";
  mkdir(headers.c_str(), 0700);
  for (const auto& [name, text] : anyplace::compilers::dialect_headers) {
    const std::string path = headers + "/" + name;
    for (std::size_t slash = path.find('/', headers.size() + 1); slash != path.npos;
         slash = path.find('/', slash + 1)) {
      mkdir(path.substr(0, slash).c_str(), 0700);
    }
    if (!write_file(path, text)) return "";
  }
  return headers;
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

anyplace_status fail(const std::string& why) {
  message = why;
  return ANYPLACE_STATUS_BACKEND_FAILED;
}

anyplace_status compile(const CompileJob& job, const std::string& folder) {
  void* const plugin = dlopen(job.plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return fail(dlerror());
  const auto entry = reinterpret_cast<anyplace_compiler_entry_function>(dlsym(plugin, ANYPLACE_COMPILER_ENTRY_SYMBOL));
  if (entry == nullptr) return fail(job.plugin + " has no symbol " ANYPLACE_COMPILER_ENTRY_SYMBOL);
  static constexpr anyplace_compiler_host host{
      sizeof(host), ANYPLACE_COMPILER_ABI_MAJOR, ANYPLACE_COMPILER_ABI_MINOR, 0, nullptr, leave_message};
  anyplace_compiler_table table{};
  table.struct_size = sizeof(table);
  if (const anyplace_status status = entry(&host, &table); status != ANYPLACE_STATUS_OK) return status;
  const std::string headers = make_headers(folder);
  const std::string own = folder + "/compiler";
  if (headers.empty() || mkdir(own.c_str(), 0700) != 0) return fail("can't write below " + folder);

  const std::vector<const char*> defines = pointers(job.defines), includes = pointers(job.includes),
                                 expressions = pointers(job.expressions), options = pointers(job.options);
  anyplace_compile_request request{};
  request.struct_size = sizeof(request);
  request.format = job.format;
  request.architecture = job.architecture.c_str();
  request.source = job.source.c_str();
  request.source_bytes = job.source.size();
  request.name = job.name.c_str();
  request.library = job.library.c_str();
  request.headers = headers.c_str();
  request.folder = own.c_str();
  request.standard = job.standard;
  request.flags = job.flags;
  request.define_count = static_cast<std::uint32_t>(defines.size());
  request.include_count = static_cast<std::uint32_t>(includes.size());
  request.expression_count = static_cast<std::uint32_t>(expressions.size());
  request.option_count = static_cast<std::uint32_t>(options.size());
  request.defines = defines.data();
  request.includes = includes.data();
  request.expressions = expressions.data();
  request.options = options.data();
  anyplace_compile_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.image = take_image;
  sink.log = take_log;
  sink.lowered = take_lowered;
  sink.header = take_header;
  return table.compile(table.self, &request, &sink);
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: anyplace_compile_helper REQUEST RESULT FOLDER MEMORY\n");
    return 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would take the result any more
  limit(RLIMIT_AS, std::strtoull(words[4], nullptr, 10));
  limit(RLIMIT_FSIZE, file_limit);
  limit(RLIMIT_CORE, 0);
  try {
    std::ifstream file(words[1], std::ios::binary);
    const std::string request((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (const auto job = anyplace::detail::job_of(request)) {
      result.status = compile(*job, words[3]);
    } else {
      result.status = fail("the request can't be read");
    }
  } catch (const std::bad_alloc&) {
    result = {};
    result.status = ANYPLACE_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    result.status = fail(exception.what());
  }
  result.message = message;
  const std::string made = std::string(words[2]) + ".new";
  if (!write_file(made, to_records(result)) || std::rename(made.c_str(), words[2]) != 0) {
    std::fprintf(stderr, "can't write %s: %s\n", words[2], std::strerror(errno));
    return 1;
  }
  return 0;
}
