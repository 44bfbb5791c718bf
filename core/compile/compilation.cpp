// SPDX-License-Identifier: Apache-2.0
#include "compile/compilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "compile/run.h"
#include "kernels/doubles.h"
#include "plugins/device_properties.h"
#include "plugins/plugin_search.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

/// An image of one of these formats is for every device that takes the format.
bool has_architectures(std::uint32_t format) {
  return format != ANYPLACE_IMAGE_SPIRV && format != ANYPLACE_IMAGE_OPENCL_C;
}

/// Compilers in the order in which they are asked.
std::vector<const CompilerPlugin*> chosen_compilers(const CompileOptions& options) {
  std::vector<const CompilerPlugin*> all;
  std::string known;
  for (const auto& candidate : compiler_candidates()) {
    if (candidate.plugin == nullptr) continue;
    all.push_back(candidate.plugin);
    known += (known.empty() ? "" : ", ") + candidate.plugin->name;
  }
  const char* const variable = ::secure_getenv("ANYPLACE_COMPILERS");
  std::string_view names = options.compiler;
  const bool is_option = !names.empty();
  if (!is_option && variable != nullptr) names = bounded(variable);
  if (names.empty()) return all;
  std::vector<const CompilerPlugin*> chosen;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(std::min(comma + 1, names.size()));
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto* one) { return one->name == name; });
    if (found == all.end()) {
      fail(ErrorCode::invalid_argument, "", "compile",
           fmt::format("{} names the compiler {}\nthere is {}\nanyplace doctor lists them",
                       is_option ? "CompileOptions::compiler" : "ANYPLACE_COMPILERS", detail::in_quotes(name),
                       known.empty() ? "none" : known));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// Takes away the byte order mark that some editors put first. A compiler skips it only at the beginning of a file, and
/// there comes text of ours.
std::string_view without_mark(std::string_view source) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return source.substr(source.starts_with(mark) ? mark.size() : 0);
}

}  // namespace

std::vector<std::uint32_t> formats_in(std::uint64_t bits) {
  std::vector<std::uint32_t> formats;
#define ANYPLACE_IMAGE_IN(upper, lower, number, text) \
  if ((bits >> number & 1) != 0) formats.push_back(number);
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_IN)
#undef ANYPLACE_IMAGE_IN
  return formats;
}

std::string_view without_ampersand(std::string_view expression) {
  if (!expression.starts_with('&')) return expression;
  return expression.substr(std::min(expression.find_first_not_of(" \t", 1), expression.size()));
}

const char* word_of(std::uint32_t format) {
#define ANYPLACE_IMAGE_WORD(upper, lower, number, text) \
  if (format == number) return #lower;
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_WORD)
#undef ANYPLACE_IMAGE_WORD
  return "";
}

Target target_of(const Device& device, const char* operation) {
  const anyplace_device_properties& properties = properties_of(*device.state(), operation);
  return {device.to_string(), formats_in(properties.image_formats), device.properties().architecture, true,
          lacks_doubles(*device.state(), operation)};
}

/// What became of the compilers that were asked for an image and gave none.
struct Asked {
  std::string reasons;                           ///< of each one
  std::string failures;                          ///< of those that failed themselves, such as by a crash
  anyplace_status failure = ANYPLACE_STATUS_OK;  ///< of the first of these

  void add(const std::string& reason) { append(reasons, reason); }
  void add_failure(anyplace_status status, const std::string& reason) {
    add(reason);
    append(failures, reason);
    if (failure == ANYPLACE_STATUS_OK) failure = status;
  }

 private:
  static void append(std::string& to, const std::string& reason) { to += (to.empty() ? "" : "; ") + reason; }
};

Compilation::Compilation(std::string_view source, const CompileOptions& options)
    : options_(options), compilers_(chosen_compilers(options)) {
  job_.source = without_mark(source);
  job_.name = options.name.empty() ? "kernels.cu" : options.name;
  job_.standard = static_cast<std::uint32_t>(options.standard);
  job_.flags = (options.fast_math ? std::uint32_t{ANYPLACE_COMPILE_FAST_MATH} : 0) |
               (options.debug ? std::uint32_t{ANYPLACE_COMPILE_DEBUG} : 0);
  for (const std::string& folder : options.includes) job_.includes.push_back(std::filesystem::absolute(folder));
  for (const std::string& given : options.name_expressions) {
    const std::string_view expression = without_ampersand(given);
    const auto known = std::find(job_.expressions.begin(), job_.expressions.end(), expression);
    if (known == job_.expressions.end()) job_.expressions.emplace_back(expression);
  }
  job_.options = options.compiler_options;
  if (options.cached) cache_ = KernelCache::find();
}

Compilation::Compilation(std::span<const std::byte> spirv, const CompileOptions& options)
    : Compilation(std::string_view(reinterpret_cast<const char*>(spirv.data()), spirv.size()), options) {
  job_.language = ANYPLACE_SOURCE_SPIRV;
  job_.name = "kernels.spv";
}

void Compilation::set_for_device(bool is_so) {
  job_.flags &= ~std::uint32_t{ANYPLACE_COMPILE_FOR_DEVICE};
  if (is_so) job_.flags |= ANYPLACE_COMPILE_FOR_DEVICE;
}

MadeImage Compilation::make(const Target& target) {
  Asked asked;
  job_.defines = options_.defines;
  // As anyplace_add_kernels(... WITHOUT_DOUBLES) does for such a device.
  if (target.lacks_doubles) job_.defines.emplace_back("ANYPLACE_NO_DOUBLES=1");
  for (const std::uint32_t format : target.formats) {
    for (const CompilerPlugin* const compiler : compilers_) {
      if (!compiler->makes(format, job_.language)) continue;
      job_.format = format;
      job_.architecture = has_architectures(format) ? target.architecture : "";
      set_for_device(target.is_device && !job_.architecture.empty());
      std::optional<CompileResult> result = try_compiler(*compiler, target, asked);
      if (!result) continue;
      if (!asked.failures.empty()) result->log.insert(0, asked.failures + "\n");
      return {std::move(*result), word_of(format), job_.architecture, compiler->name, {}};
    }
  }
  if (asked.failure != ANYPLACE_STATUS_OK) {
    Message message;
    message.text = asked.reasons;
    throw error_of(asked.failure, std::move(message), target.text, "compile");
  }
  std::string next = "see docs/kernels.md";
  if (std::find(target.formats.begin(), target.formats.end(), ANYPLACE_IMAGE_OPENCL_C) != target.formats.end()) {
    next = "it takes OpenCL C, which needs no compiler: the constructor of Module takes such a text\n" + next;
  }
  fail(ErrorCode::unsupported, target.text, "compile",
       asked.reasons.empty() ? fmt::format("no compiler makes an image that it takes{}\nanyplace doctor lists the "
                                           "compilers\n{}",
                                           not_searched(), next)
                             : fmt::format("no compiler could be used: {}\n{}", asked.reasons, next));
}

/// Has the compiler make the job's image.
std::optional<CompileResult> Compilation::try_compiler(const CompilerPlugin& compiler, const Target& target,
                                                       Asked& asked) {
  const auto add = [&](const std::string& reason) {
    asked.add(fmt::format("{} for {}: {}", compiler.name, word_of(job_.format), reason));
  };
  const CompilerLibrary library = library_of(compiler, job_.format);
  if (!library.is_there) {
    add(library.reason);
    return std::nullopt;
  }
  if (compiler.table.supports != nullptr && !job_.architecture.empty() &&
      compiler.table.supports(compiler.table.self, job_.format, job_.architecture.c_str()) != ANYPLACE_STATUS_OK) {
    add(take_message().text);
    return std::nullopt;
  }
  job_.plugin = compiler.path;
  job_.library = library.path;
  CompileResult result = cached_or_made(compiler, library);
  if (result.status == ANYPLACE_STATUS_UNSUPPORTED || result.status == ANYPLACE_STATUS_LIBRARY_MISSING) {
    add(result.message);
    return std::nullopt;
  }
  if (result.status == ANYPLACE_STATUS_COMPILE_FAILED) {
    ErrorDetails details;
    details.code = ErrorCode::compile_failed;
    details.place = target.text;
    details.operation = "compile";
    details.text = fmt::format("{} can't {}", compiler.name,
                               job_.language == ANYPLACE_SOURCE_SPIRV ? "translate the image" : "compile the source");
    if (!asked.failures.empty()) details.text += "; " + asked.failures;
    details.vendor_text = result.log;
    throw Error(std::move(details));
  }
  if (result.status == ANYPLACE_STATUS_OK && !result.image.empty()) return result;
  if (result.status == ANYPLACE_STATUS_OUT_OF_MEMORY && !options_.in_process && result.message.empty()) {
    result.message =
        fmt::format("it may use {} bytes of addresses, which is CompileOptions::memory_limit", options_.memory_limit);
  }
  const bool is_empty = result.status == ANYPLACE_STATUS_OK;
  const std::string reason = is_empty
                                 ? fmt::format("the compiler {} succeeded and gave no image", compiler.name)
                                 : fmt::format("the compiler {} failed: {}", compiler.name, one_line(result.message));
  asked.add_failure(is_empty ? ANYPLACE_STATUS_BACKEND_FAILED : result.status, reason);
  return std::nullopt;
}

CompileResult Compilation::cached_or_made(const CompilerPlugin& compiler, const CompilerLibrary& library) const {
  if (!cache_) return make_anew(compiler);
  const std::string key = KernelCache::key_of(job_, compiler.name, library.path + " " + library.version);
  if (std::optional<CompileResult> found = cache_->read(key)) return std::move(*found);
  const CacheLock lock = cache_->lock(key, Deadline(to_timeout_ns(options_.timeout)));
  if (std::optional<CompileResult> found = cache_->read(key)) return std::move(*found);
  const std::int64_t began_ns = KernelCache::now_ns();
  CompileResult result = make_anew(compiler);
  if (result.status == ANYPLACE_STATUS_OK && !result.image.empty()) {
    cache_->keep(lock, key, {job_.name, compiler.name, word_of(job_.format), job_.architecture}, result, began_ns);
  }
  return result;
}

CompileResult Compilation::make_anew(const CompilerPlugin& compiler) const {
  if (options_.in_process) return compile_here(job_, compiler.table);
  return compile_in_helper(job_, {options_.timeout, options_.memory_limit}, compiler.name);
}

}  // namespace anyplace::detail
