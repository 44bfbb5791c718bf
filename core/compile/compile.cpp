// SPDX-License-Identifier: Apache-2.0
#include "anyplace/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "anyplace/device.h"
#include "anyplace/kernel.h"
#include "compile/cache.h"
#include "compile/compiler_plugins.h"
#include "compile/job.h"
#include "compile/run.h"
#include "kernels/doubles.h"
#include "kernels/image_format.h"
#include "plugins/device_properties.h"
#include "plugins/names.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {

struct CompiledKernels::Data {
  struct Made {
    detail::CompileResult result;
    std::string format, architecture, compiler;
    std::vector<KernelAlias> aliases;
  };
  std::string name;
  std::vector<Made> made;
  std::vector<KernelImage> images;
  std::string log;
};

namespace detail {
namespace {

constexpr std::size_t source_limit = std::size_t{64} << 20;

[[noreturn]] void refuse(const std::string& why) { fail(ErrorCode::invalid_argument, "", "compile", why); }

void require_text(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) refuse(fmt::format("{} {} contains a NUL", what, detail::quoted(text)));
}

void require_options(std::string_view source, const CompileOptions& options) {
  if (source.empty()) refuse("the source is empty\nit has at least one kernel: extern \"C\" __global__ void ...");
  if (source.size() > source_limit) {
    refuse(fmt::format("the source has {} bytes\nthe limit is {}", source.size(), source_limit));
  }
  if (const std::size_t at = source.find('\0'); at != source.npos) {
    refuse(fmt::format("the source contains a NUL, at byte {}", at));
  }
  if (options.standard != 17 && options.standard != 20) {
    refuse(fmt::format("the standard of C++ is {}\nit is 17 or 20", options.standard));
  }
  if (options.timeout <= std::chrono::nanoseconds(0)) refuse("the timeout isn't more than 0");
  if (options.name.find_first_of(std::string("\0\n\"\\", 4)) != std::string::npos) {
    refuse(
        fmt::format("the name {} has a NUL, a line end, a quote or a backslash in it", detail::quoted(options.name)));
  }
  for (const std::string& define : options.defines) {
    require_text(define, "the definition");
    if (define.empty() || define.front() == '=') refuse("a definition is NAME or NAME=VALUE, and one has no name");
  }
  for (const std::string& folder : options.includes) {
    require_text(folder, "the folder");
    if (folder.empty()) refuse("a folder of headers has no name");
  }
  for (const std::string& expression : options.name_expressions) {
    if (expression.empty()) refuse("a name expression is empty");
    if (expression.find_first_of(std::string("\0\n", 2)) != std::string::npos) {
      refuse(fmt::format("the name expression {} contains a NUL or a line end", detail::quoted(expression)));
    }
  }
  for (const std::string& option : options.compiler_options) require_text(option, "the option");
}

/// What images a target takes, the best first.
struct Target {
  std::string text;
  std::vector<std::uint32_t> formats;
  std::string architecture;
  bool lacks_doubles = false;
};

std::vector<std::uint32_t> formats_in(std::uint64_t bits) {
  std::vector<std::uint32_t> formats;
#define ANYPLACE_IMAGE_IN(upper, lower, number, text) \
  if ((bits >> number & 1) != 0) formats.push_back(number);
  ANYPLACE_IMAGE_LIST(ANYPLACE_IMAGE_IN)
#undef ANYPLACE_IMAGE_IN
  return formats;
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
  return {device.to_string(), formats_in(properties.image_formats), device.properties().architecture,
          lacks_doubles(*device.state(), operation)};
}

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
      refuse(fmt::format("{} names the compiler {}\nthere is {}\nanyplace doctor lists them",
                         is_option ? "CompileOptions::compiler" : "ANYPLACE_COMPILERS", detail::quoted(name),
                         known.empty() ? "none" : known));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

std::vector<Target> targets_of(std::span<const std::string> texts,
                               const std::vector<const CompilerPlugin*>& compilers) {
  std::vector<Target> targets;
  for (const std::string& text : texts) {
    Target target{text, {}, ""};
    for (const std::uint32_t format : formats_in(~std::uint64_t{0})) {
      if (text == word_of(format)) target.formats.push_back(format);
    }
    for (const CompilerPlugin* const compiler : compilers) {
      if (!target.formats.empty()) break;
      if (compiler->table.supports == nullptr) continue;
      for (const std::uint32_t format : formats_in(compiler->table.formats)) {
        if (compiler->table.supports(compiler->table.self, format, text.c_str()) != ANYPLACE_STATUS_OK) continue;
        target.formats.push_back(format);
        target.architecture = text;
      }
      take_message();
    }
    targets.push_back(target.formats.empty() ? target_of(Device(text), "compile") : std::move(target));
  }
  return targets;
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

class Compilation {
 public:
  Compilation(std::string_view source, const CompileOptions& options)
      : options_(options), compilers_(chosen_compilers(options)) {
    job_.source = source;
    job_.name = options.name.empty() ? "kernels.cu" : options.name;
    job_.standard = static_cast<std::uint32_t>(options.standard);
    job_.flags = (options.fast_math ? std::uint32_t{ANYPLACE_COMPILE_FAST_MATH} : 0) |
                 (options.debug ? std::uint32_t{ANYPLACE_COMPILE_DEBUG} : 0);
    for (const std::string& folder : options.includes) job_.includes.push_back(std::filesystem::absolute(folder));
    job_.expressions = options.name_expressions;
    job_.options = options.compiler_options;
    if (options.cached) cache_ = KernelCache::find();
  }

  const std::vector<const CompilerPlugin*>& compilers() const noexcept { return compilers_; }

  /// Compiles for a target by the first compiler that can. One that fails itself gives way to the next, as one that
  /// isn't there does; what it failed of is in the log.
  CompiledKernels::Data::Made make(const Target& target) {
    Asked asked;
    job_.defines = options_.defines;
    // As anyplace_add_kernels(... WITHOUT_DOUBLES) does for such a device.
    if (target.lacks_doubles) job_.defines.emplace_back("ANYPLACE_NO_DOUBLES=1");
    for (const std::uint32_t format : target.formats) {
      for (const CompilerPlugin* const compiler : compilers_) {
        if (!compiler->makes(format)) continue;
        job_.format = format;
        job_.architecture = has_architectures(format) ? target.architecture : "";
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
    fail(ErrorCode::unsupported, target.text, "compile",
         asked.reasons.empty()
             ? "no compiler makes an image that it takes\nanyplace doctor lists the compilers\nsee docs/kernels.md"
             : fmt::format("no compiler could be used: {}\nsee docs/kernels.md", asked.reasons));
  }

 private:
  /// Has the compiler make the job's image.
  std::optional<CompileResult> try_compiler(const CompilerPlugin& compiler, const Target& target, Asked& asked) {
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
      details.text = fmt::format("{} can't compile the source", compiler.name);
      if (!asked.failures.empty()) details.text += "; " + asked.failures;
      details.vendor_text = result.log;
      throw Error(std::move(details));
    }
    if (result.status == ANYPLACE_STATUS_OK && !result.image.empty()) return result;
    const bool is_empty = result.status == ANYPLACE_STATUS_OK;
    const std::string reason = is_empty
                                   ? fmt::format("the compiler {} succeeded and gave no image", compiler.name)
                                   : fmt::format("the compiler {} failed: {}", compiler.name, one_line(result.message));
    asked.add_failure(is_empty ? ANYPLACE_STATUS_BACKEND_FAILED : result.status, reason);
    return std::nullopt;
  }

  CompileResult cached_or_made(const CompilerPlugin& compiler, const CompilerLibrary& library) const {
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

  CompileResult make_anew(const CompilerPlugin& compiler) const {
    if (options_.in_process) return compile_here(job_, compiler.table);
    return compile_in_helper(job_, {options_.timeout, options_.memory_limit}, compiler.name);
  }

  const CompileOptions& options_;
  const std::vector<const CompilerPlugin*> compilers_;
  CompileJob job_;
  std::optional<KernelCache> cache_;
};

CompiledKernels finished(std::string name, std::vector<CompiledKernels::Data::Made> made) {
  const auto data = std::make_shared<CompiledKernels::Data>();
  data->name = std::move(name);
  data->made = std::move(made);
  for (CompiledKernels::Data::Made& one : data->made) {
    for (const auto& [expression, in_image] : one.result.lowered) one.aliases.push_back({expression, in_image});
    data->images.push_back(
        {one.format, one.architecture, one.result.image.data(), one.result.image.size(), one.aliases});
    data->log += one.result.log;
  }
  return CompiledKernels(data);
}

}  // namespace
}  // namespace detail

KernelImages CompiledKernels::images() const noexcept {
  return data_ ? KernelImages(std::string_view(data_->name), std::span<const KernelImage>(data_->images))
               : KernelImages();
}

const std::string& CompiledKernels::log() const noexcept {
  static const std::string none;
  return data_ ? data_->log : none;
}

std::vector<std::string> CompiledKernels::compilers() const {
  std::vector<std::string> names;
  if (data_) {
    for (const Data::Made& one : data_->made) names.push_back(one.compiler);
  }
  return names;
}

CompiledKernels compile(std::string_view source, std::span<const std::string> targets, const CompileOptions& options) {
  detail::enter("compile");
  detail::require_options(source, options);
  if (targets.empty()) detail::refuse("there is no target\none is a place, an architecture or an image format");
  detail::Compilation compilation(source, options);
  std::vector<CompiledKernels::Data::Made> made;
  for (const detail::Target& target : detail::targets_of(targets, compilation.compilers())) {
    made.push_back(compilation.make(target));
  }
  return detail::finished(options.name, std::move(made));
}

Module Module::compile(const Device& device, std::string_view source, const CompileOptions& options) {
  constexpr const char* operation = "Module::compile";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  detail::require_options(source, options);
  detail::Compilation compilation(source, options);
  std::vector<CompiledKernels::Data::Made> made;
  made.push_back(compilation.make(detail::target_of(device, operation)));
  return Module(device, detail::finished(options.name, std::move(made)).images());
}

Module Module::compile(const Device& device, std::string_view source) {
  return compile(device, source, CompileOptions());
}

std::vector<Compiler> compilers() {
  detail::enter("compilers");
  std::vector<Compiler> all;
  for (const auto& candidate : detail::compiler_candidates()) {
    Compiler& one = all.emplace_back();
    one.name = candidate.file.name;
    one.plugin = candidate.file.path;
    if (candidate.plugin == nullptr) {
      one.reason = candidate.refusal.reason;
      continue;
    }
    for (const std::uint32_t format : detail::formats_in(candidate.plugin->table.formats)) {
      one.formats.emplace_back(detail::word_of(format));
      const detail::CompilerLibrary library = detail::library_of(*candidate.plugin, format);
      if (!library.is_there) {
        one.missing.push_back({one.formats.back(), library.reason});
      } else if (!one.usable) {
        one.usable = true;
        one.library = library.path;
        one.version = library.version;
      }
    }
    if (!one.usable && !one.missing.empty()) one.reason = one.missing.front().reason;
  }
  return all;
}

}  // namespace anyplace
