// SPDX-License-Identifier: Apache-2.0
#include "tools/compile.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>

#include "anyplace/error.h"
#include "anyplace/kernel_images.h"
#include "error_text.h"
#include "input_file.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view who = "anyplace compile";

std::string note(const std::string& text) { return painted_note(Paint::bad, who) + ": " + printable(text) + "\n"; }

/// The end of a file's name, as compilers have it.
std::string suffix_of(std::string_view format) {
  constexpr std::array<std::pair<std::string_view, const char*>, 3> known{
      {{"spirv", "spv"}, {"shared_object", "so"}, {"opencl_c", "cl"}}};
  for (const auto& [word, suffix] : known) {
    if (word == format) return suffix;
  }
  return std::string(format);
}

/// Where the images go: a folder that is there, or that ends in a slash, gets files with the source's name; anything
/// else is the beginning of the files' names.
std::string prefix_of(const std::string& output, const std::string& file) {
  const std::string stem = file == standard_input ? "kernels" : fs::path(file).stem().string();
  std::error_code ignored;
  if (output.empty()) return stem;
  if (output.back() == '/' || fs::is_directory(output, ignored)) return (fs::path(output) / stem).string();
  return output;
}

std::string path_of(const std::string& prefix, const KernelImage& image) {
  const std::string architecture(image.architecture);
  return prefix + (architecture.empty() ? "" : "." + architecture) + "." + suffix_of(image.format);
}

/// Makes the folder that the output names, if it ends in '/'. Returns why that can't be done; "" if it is there.
std::string make_output_folder(const std::string& output) {
  std::error_code error;
  if (!output.empty() && output.back() == '/') fs::create_directories(output, error);
  return error ? error.message() : "";
}

/// Writes the file, or leaves none. Returns why it can't be written; "" if it is.
std::string write_image(const std::string& path, const KernelImage& image) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return std::strerror(errno);
  file.write(static_cast<const char*>(image.data), static_cast<std::streamsize>(image.size));
  file.close();
  if (file.good()) return "";
  const std::string why = std::strerror(errno);
  std::error_code ignored;
  fs::remove(path, ignored);
  return why;
}

/// Writes the images of one target. `written` has the paths so far, as two targets may want one image.
Answer write_images(const CompiledKernels& compiled, const std::string& prefix, std::set<std::string>& written) {
  Answer answer;
  const std::vector<std::string> compilers = compiled.compilers();
  const KernelImages images = compiled.images();
  std::size_t number = 0;
  for (const KernelImage& image : images.images()) {
    const std::string compiler = compilers[number++];
    const std::string path = path_of(prefix, image);
    if (!written.insert(path).second) continue;
    if (const std::string why = write_image(path, image); !why.empty()) {
      answer.notes += note("can't write " + path + ": " + why);
      answer.status = exit_failed;
      return answer;
    }
    answer.output += printable(path) + ": " + std::string(image.format) +
                     (image.architecture.empty() ? "" : " for " + std::string(image.architecture)) + ", by " +
                     compiler + ", " + bytes_text(image.size) + "\n";
    for (const KernelAlias& alias : image.aliases) {
      answer.output += "  " + std::string(alias.name) + " is " + std::string(alias.in_image) + "\n";
    }
  }
  answer.log = compiled.log();
  return answer;
}

Answer answer_of(const Error& error) {
  if (error.code() != ErrorCode::compile_failed) {
    return {"", error_text(who, error), error.code() == ErrorCode::invalid_argument ? exit_usage : exit_failed};
  }
  Answer answer{"", note(error.place() + ": " + std::string(error.problem()) + " (compile_failed)"), exit_failed};
  answer.log = error.vendor_text();
  return answer;
}

}  // namespace

CompileCommand::CompileCommand(CLI::App& app)
    : command_(app.add_subcommand("compile", "Compiles kernels of a file, and writes an image for each target")) {
  command_->add_option("FILE", file_, "CUDA C++ with kernels; - is standard input")->required();
  command_
      ->add_option("--for", targets_,
                   "Places, architectures, image formats or backends: cuda:0, sm_80, gfx90a, spirv, cpu_sim")
      ->required()
      ->delimiter(',');
  command_->add_option("-o,--output", output_,
                       "A folder, which is made if the name ends in /, or the beginning of the images' names "
                       "(default: the file's name, here)");
  command_->add_option("-D,--define", options_.defines, "NAME or NAME=VALUE")->allow_extra_args(false);
  command_->add_option("-I,--include", includes_, "A folder with headers, searched after the file's own")
      ->allow_extra_args(false);
  command_->add_option("--std", options_.standard, "Standard of C++ (default 20)")->check(CLI::IsMember({17, 20}));
  command_->add_option("--name-expression", options_.name_expressions, "A kernel that isn't extern \"C\": scale<float>")
      ->allow_extra_args(false);
  command_->add_flag("--fast-math", options_.fast_math, "Less exact arithmetic");
  command_->add_flag("--debug", options_.debug, "Lines for a debugger, and no optimisation");
  command_->add_option("--compiler", options_.compiler, "The compiler to use; `anyplace doctor` lists them");
  command_->add_option("--option", options_.compiler_options, "A word for the compiler itself: --option=-funroll-loops")
      ->allow_extra_args(false);
  command_->add_option("--timeout", timeout_, "Seconds that the compiler gets for each target (default 120)")
      ->check(CLI::Range(0.001, 86400.0));
  command_->add_flag("--no-cache", not_cached_, "Neither read the cache nor keep anything there");
  command_->footer(
      "Exit status:\n"
      "  0  the images are written\n"
      "  1  the source can't be compiled for a target, there is no compiler or no device for it, or an image can't be "
      "written; the other targets' images are written\n"
      "  2  the command line, the text of a target or an option is wrong, or the file can't be read");
}

bool CompileCommand::chosen() const { return command_->parsed(); }

CompileOptions CompileCommand::options_in(const std::string& folder) const {
  CompileOptions options = options_;
  options.cached = !not_cached_;
  options.timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(timeout_));
  if (!folder.empty()) options.includes.push_back(folder);
  for (const std::string& include : includes_) {
    options.includes.push_back(include.empty() ? include : fs::absolute(include).string());
  }
  return options;
}

Answer CompileCommand::run() const {
  try {
    const bool is_file = file_ != standard_input;
    const std::string source = InputFile(file_).take_rest();
    if (const std::string why = make_output_folder(output_); !why.empty()) {
      return {"", note("can't make " + output_ + ": " + why), exit_failed};
    }
    CompileOptions options = options_in(is_file ? fs::absolute(file_).parent_path().string() : "");
    options.name = is_file ? file_ : "kernels.cu";
    return compile_each(source, options);
  } catch (const InputError& error) {
    return {"", note(file_ + ": " + error.what()), exit_usage};
  }
}

Answer CompileCommand::compile_each(const std::string& source, const CompileOptions& options) const {
  Answer all;
  std::set<std::string> written;
  std::vector<std::string> failed;
  for (const std::string& target : targets_) {
    Answer one;
    try {
      const std::string alone[] = {target};
      one = write_images(anyplace::compile(source, alone, options), prefix_of(output_, file_), written);
    } catch (const Error& error) {
      one = answer_of(error);
    }
    all.output += one.output;
    all.notes += one.notes;
    all.log += one.log;
    if (one.status == exit_usage) all.status = exit_usage;
    if (all.status == 0) all.status = one.status;
    if (one.status != 0) failed.push_back(target);
  }
  if (!failed.empty() && targets_.size() > 1) {
    std::string names;
    for (const std::string& target : failed) names += (names.empty() ? "" : ", ") + target;
    all.notes += note("no image for " + names);
  }
  return all;
}

}  // namespace anyplace::tool
