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
#include "compile/compilation.h"
#include "compile/compiler_plugins.h"
#include "kernels/load_module.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {

struct CompiledKernels::Data {
  std::string name;
  std::vector<detail::MadeImage> made;
  std::vector<KernelImage> images;
  std::string log;
};

namespace detail {
namespace {

constexpr std::size_t source_limit = std::size_t{64} << 20;

[[noreturn]] void refuse(const std::string& why) { fail(ErrorCode::invalid_argument, "", "compile", why); }

void require_text(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) refuse(fmt::format("{} {} contains a NUL", what, detail::in_quotes(text)));
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
    refuse(fmt::format("the name {} has a NUL, a line end, a quote or a backslash in it",
                       detail::in_quotes(options.name)));
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
    if (without_ampersand(expression).empty()) refuse("a name expression is empty");
    if (expression.find_first_of(std::string("\0\n", 2)) != std::string::npos) {
      refuse(fmt::format("the name expression {} contains a NUL or a line end", detail::in_quotes(expression)));
    }
  }
  for (const std::string& option : options.compiler_options) require_text(option, "the option");
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

CompiledKernels finished(const CompileOptions& options, std::vector<detail::MadeImage> made) {
  const auto data = std::make_shared<CompiledKernels::Data>();
  data->name = options.name;
  data->made = std::move(made);
  for (detail::MadeImage& one : data->made) {
    for (const auto& [expression, in_image] : one.result.lowered) {
      one.aliases.push_back({expression, in_image});
      for (const std::string& given : options.name_expressions) {  // found by the same text
        if (given != expression && without_ampersand(given) == expression) one.aliases.push_back({given, in_image});
      }
    }
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
    for (const detail::MadeImage& one : data_->made) names.push_back(one.compiler);
  }
  return names;
}

CompiledKernels compile(std::string_view source, std::span<const std::string> targets, const CompileOptions& options) {
  detail::enter("compile");
  detail::require_options(source, options);
  if (targets.empty()) detail::refuse("there is no target\none is a place, an architecture or an image format");
  detail::Compilation compilation(source, options);
  std::vector<detail::MadeImage> made;
  for (const detail::Target& target : detail::targets_of(targets, compilation.compilers())) {
    made.push_back(compilation.make(target));
  }
  return detail::finished(options, std::move(made));
}

Module Module::compile(const Device& device, std::string_view source, const CompileOptions& options) {
  constexpr const char* operation = "Module::compile";
  detail::enter(operation);
  detail::require_usable(*device.state(), operation);
  detail::require_options(source, options);
  detail::Compilation compilation(source, options);
  std::vector<detail::MadeImage> made;
  made.push_back(compilation.make(detail::target_of(device, operation)));
  Module module(device, detail::finished(options, std::move(made)).images());
  detail::say_of_string(module.id_, operation);
  return module;
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
      if (!candidate.refusal.remedy.empty()) one.reason += "; " + candidate.refusal.remedy;
      continue;
    }
    const anyplace_compiler_table& table = candidate.plugin->table;
    for (const std::uint32_t format : detail::formats_in(table.formats | table.from_spirv)) {
      const std::string word = detail::word_of(format);
      if (candidate.plugin->makes(format, ANYPLACE_SOURCE_DIALECT)) one.formats.push_back(word);
      if (candidate.plugin->makes(format, ANYPLACE_SOURCE_SPIRV)) one.from_spirv.push_back(word);
      const detail::CompilerLibrary library = detail::library_of(*candidate.plugin, format);
      if (!library.is_there) {
        one.missing.push_back({word, library.reason});
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
