// SPDX-License-Identifier: Apache-2.0
#include "compile/call_compiler.h"

#include <algorithm>
#include <new>
#include <vector>

namespace anyplace::detail {
namespace {

constexpr std::size_t log_limit = std::size_t{4} << 20;

/// The context of the sink. Nothing is thrown through a plugin.
struct Taken {
  CompileResult result;
  bool is_short_of_memory = false;

  template <class Body>
  static void take(void* context, const Body& body) noexcept {
    Taken& taken = *static_cast<Taken*>(context);
    try {
      body(taken.result);
    } catch (const std::bad_alloc&) {
      taken.is_short_of_memory = true;
    }
  }
};

void take_image(void* context, const void* bytes, std::uint64_t count) {
  Taken::take(context, [&](CompileResult& to) { to.image.assign(static_cast<const char*>(bytes), count); });
}
/// Keeps the beginning, where the first error is.
void take_log(void* context, const char* text, std::uint64_t count) {
  Taken::take(context, [&](CompileResult& to) {
    const std::size_t room = log_limit - std::min(log_limit, to.log.size());
    to.log.append(text, std::min<std::size_t>(room, count));
  });
}
void take_lowered(void* context, const char* expression, const char* name) {
  Taken::take(context, [&](CompileResult& to) { to.lowered.emplace_back(expression, name); });
}
void take_header(void* context, const char* path) {
  Taken::take(context, [&](CompileResult& to) { to.headers.emplace_back(path); });
}

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

}  // namespace

CompileResult call_compiler(const anyplace_compiler_table& table, const CompileJob& job, const std::string& headers,
                            const std::string& folder) {
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
  request.folder = folder.c_str();
  request.standard = job.standard;
  request.flags = job.flags;
  request.language = job.language;
  request.define_count = static_cast<std::uint32_t>(defines.size());
  request.include_count = static_cast<std::uint32_t>(includes.size());
  request.expression_count = static_cast<std::uint32_t>(expressions.size());
  request.option_count = static_cast<std::uint32_t>(options.size());
  request.defines = defines.data();
  request.includes = includes.data();
  request.expressions = expressions.data();
  request.options = options.data();
  Taken taken;
  anyplace_compile_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.context = &taken;
  sink.image = take_image;
  sink.log = take_log;
  sink.lowered = take_lowered;
  sink.header = take_header;
  const anyplace_status status = table.compile(table.self, &request, &sink);
  if (taken.is_short_of_memory) taken.result = {};
  taken.result.status = taken.is_short_of_memory ? ANYPLACE_STATUS_OUT_OF_MEMORY : status;
  return std::move(taken.result);
}

}  // namespace anyplace::detail
