// SPDX-License-Identifier: Apache-2.0
#include "new_backend.h"

#include <anyplace/backend/abi.h>
#include <anyplace/plugins.h>
#include <anyplace/version.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "new_backend_templates.h"
#include "text.h"

namespace anyplace::tool {
namespace {

namespace fs = std::filesystem;

// ---- The name

constexpr std::size_t longest_name = sizeof(anyplace_backend_table::name) - 1;

bool is_backend_name(std::string_view text) noexcept {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= longest_name && text.front() >= 'a' && text.front() <= 'z' &&
         std::all_of(text.begin(), text.end(), fits);
}

/// The meaning that `name` has in anyplace itself; "" if it has none.
std::string taken_by_anyplace(const std::string& name) {
  if (name == "anyplace") return "the name of the library";
  if (name == "auto") return "how an application asks for the first device there is";
  for (const BackendAlias& alias : backend_aliases()) {
    if (name == alias.backend) return "a backend of anyplace's own";
    if (name == alias.alias) return "an alias of " + std::string(alias.backend) + " in anyplace";
  }
  return "";
}

/// The reason why the text can't be the name of "a backend" or "a compiler", and what would be right; "" if it can.
std::string form_problem(const std::string& name, const std::string& of_what) {
  if (is_backend_name(name)) return "";
  return in_quotes(name) + " is no name for " + of_what +
         "; one starts with a letter a to z, goes on with such letters, digits and _, and has " +
         std::to_string(longest_name) + " characters at most";
}

/// The reason why the name of a compiler can't be used, and what would be right; "" if it can.
std::string compiler_name_problem(const std::string& name) {
  const std::string problem = form_problem(name, "a compiler");
  if (!problem.empty()) return problem;
  for (const char* const taken : {"clang", "hiprtc", "host", "nvrtc"}) {
    if (name == taken) {
      return "'" + name + "' is a compiler of anyplace's own; take the name of your company or product";
    }
  }
  return "";
}

/// The reason why the name of a backend can't be used, and what would be right; "" if it can.
std::string name_problem(const std::string& name) {
  const std::string problem = form_problem(name, "a backend");
  if (!problem.empty()) return problem;
  const std::string taken = taken_by_anyplace(name);
  return taken.empty() ? "" : "'" + name + "' is " + taken + "; take the name of your company or product";
}

// ---- The texts

char upper(char c) noexcept { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

/// "my_device" becomes "MyDevice".
std::string class_case(std::string_view name) {
  std::string result;
  bool starts_word = true;
  for (const char c : name) {
    if (c != '_') result += starts_word ? upper(c) : c;
    starts_word = c == '_';
  }
  return result;
}

using Replacements = std::vector<std::pair<std::string_view, std::string>>;

Replacements replacements_for(const std::string& name, bool in_c) {
  const std::string_view version = ANYPLACE_VERSION;  // the package is compatible within a minor version
  std::string all_upper = name;
  std::transform(all_upper.begin(), all_upper.end(), all_upper.begin(), upper);
  return {{"NEWLANGUAGE", in_c ? "C" : "CXX"},
          {"NEWEXTENSION", in_c ? "c" : "cpp"},
          {"NEWVERSION", std::string(version.substr(0, version.rfind('.')))},
          {"NEWNAME", all_upper},
          {"Newname", class_case(name)},
          {"newname", name}};
}

/// Replaces the words from left to right and leaves inserted text alone, because the name may contain one of the words.
std::string replaced(std::string_view text, const Replacements& replacements) {
  std::string result;
  while (!text.empty()) {
    const auto here = std::find_if(replacements.begin(), replacements.end(),
                                   [&](const auto& one) { return text.substr(0, one.first.size()) == one.first; });
    result += here == replacements.end() ? std::string(1, text.front()) : here->second;
    text.remove_prefix(here == replacements.end() ? 1 : here->first.size());
  }
  return result;
}

// ---- The files

[[noreturn]] void fail_with_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A directory with a temporary name beside the target. It is removed unless publish() renamed it.
class Draft {
 public:
  explicit Draft(const fs::path& target) : target_(target) {
    std::string name = target_.parent_path() / ("." + target_.filename().string() + ".XXXXXX");
    if (mkdtemp(name.data()) == nullptr) fail_with_errno("can't make a directory in " + target_.parent_path().string());
    path_ = name;
  }
  Draft(const Draft&) = delete;  // removed once
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }

  void write(const std::string& name, const std::string& text, bool executable) const {
    const fs::path file = path_ / name;
    fs::create_directories(file.parent_path());
    std::ofstream out(file, std::ios::binary);
    out << text << std::flush;
    if (!out) fail_with_errno("can't write " + (target_ / name).string());
    const auto execute = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    if (executable) fs::permissions(file, execute & allowed(), fs::perm_options::add);
  }

  /// Renames it to the target. Never replaces what exists there.
  void publish() {
    fs::permissions(path_, allowed());
    // Some file systems can't rename only if the target doesn't exist; there the check that was made before has to
    // suffice.
    int failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) failed = ::rename(path_.c_str(), target_.c_str());
    if (failed != 0) fail_with_errno("can't make " + target_.string());
    path_.clear();
  }

 private:
  /// The permissions that the user's umask leaves to new directories.
  static fs::perms allowed() noexcept {
    const mode_t mask = umask(0);
    umask(mask);
    return static_cast<fs::perms>(0777 & ~mask);
  }

  const fs::path target_;
  fs::path path_;
};

using Kinds = std::vector<std::string_view>;  ///< of files (new_backend_templates.h)

int write_project(const fs::path& directory, const std::string& name, const Kinds& kinds, bool in_c) {
  const Replacements replacements = replacements_for(name, in_c);
  Draft draft(directory);
  int files = 0;
  for (const TemplateFile& file : new_backend_templates()) {
    if (std::find(kinds.begin(), kinds.end(), file.kind) == kinds.end()) continue;
    draft.write(std::string(file.path), replaced(file.text, replacements), file.executable);
    ++files;
  }
  draft.publish();
  return files;
}

// ---- What to do next

bool in_path_variable(const fs::path& directory) {
  const char* const variable = std::getenv("PATH");
  std::istringstream items(variable == nullptr ? "" : variable);
  for (std::string item; std::getline(items, item, ':');) {
    std::error_code failed;
    if (!item.empty() && fs::equivalent(item, directory, failed) && !failed) return true;
  }
  return false;
}

/// The text as one word of a shell command, in single quotes if that needs them.
std::string shell_word(const std::string& text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// What to type in the project's directory; `check` is the last of it.
std::string next_commands(const fs::path& directory, const std::string& check) {
  std::error_code failed;
  const fs::path bin = fs::read_symlink("/proc/self/exe", failed).parent_path();
  const bool installed = fs::exists(bin / ANYPLACE_PACKAGE_FROM_PROGRAM / "anyplaceConfig.cmake", failed);
  std::string text = "    cd " + shell_word(directory.string()) + "\n";
  if (!in_path_variable(bin)) text += "    export PATH=" + shell_word(bin.string()) + ":$PATH\n";
  text += std::string("    cmake -G Ninja -B b") +
          (installed ? "" : " -DCMAKE_PREFIX_PATH=/where/anyplace/is/installed") + " && cmake --build b\n";
  return text + "    " + check + "\n";
}

struct NewProject {
  std::string name;
  std::string directory;  ///< as it was asked for; "": one of the project's name
  std::string what;       ///< "a backend of anyplace in C++"
  std::string check;      ///< the command that shows that it conforms
  Kinds kinds;
  bool in_c = false;
};

Answer write_new(const NewProject& project) {
  const fs::path shown =
      project.directory.empty() ? fs::path(project.name) : fs::path(project.directory).lexically_normal();
  try {
    fs::path target = fs::absolute(shown).lexically_normal();
    if (!target.has_filename()) target = target.parent_path();  // the path ended with a slash
    if (fs::exists(fs::symlink_status(target))) {
      return {"", "anyplace: " + printable(shown.string()) + " is there already; --directory names another place\n",
              exit_failed};
    }
    const int files = write_project(target, project.name, project.kinds, project.in_c);
    return {project.name + " is written: " + project.what + ", " + std::to_string(files) +
                " files, which conforms as it stands. Next:\n\n" + next_commands(shown, project.check) +
                "\nREADME.md says what is in it, and what to do then.\n",
            "", exit_ok};
  } catch (const std::system_error& error) {
    return {"", "anyplace: " + printable(error.what()) + "; nothing was written\n", exit_failed};
  }
}

constexpr const char* exit_statuses =
    "Exit status:\n"
    "  0  the project is written\n"
    "  1  it can't be: something of that name is there, or the directory can't be made; nothing was written\n"
    "  2  the command line or the name is wrong";

}  // namespace

NewBackendCommand::NewBackendCommand(CLI::App& app)
    : command_(app.add_subcommand("new-backend", "Writes the project of a new backend, which conforms as it stands")) {
  command_->add_option("NAME", name_, "What applications will ask for: acme, as in acme:0")->required();
  command_->add_option("--directory", directory_, "The project's directory, to be made (default ./NAME)");
  command_->add_flag("--c", in_c_, "Write C11 instead of C++20");
  command_->footer(exit_statuses);
}

bool NewBackendCommand::chosen() const { return command_->parsed(); }

Answer NewBackendCommand::run() const {
  const std::string problem = name_problem(name_);
  if (!problem.empty()) return {"", "anyplace: " + problem + "\n", exit_usage};
  return write_new({name_,
                    directory_,
                    std::string("a backend of anyplace in ") + (in_c_ ? "C" : "C++"),
                    "anyplace conformance --place " + name_ + ":0 --plugin b/libanyplace_backend_" + name_ + ".so",
                    {"common", in_c_ ? "c" : "cpp"},
                    in_c_});
}

NewCompilerCommand::NewCompilerCommand(CLI::App& app)
    : command_(app.add_subcommand("new-compiler",
                                  "Writes the project of a new compiler of kernels, which conforms as it stands")) {
  command_->add_option("NAME", name_, "What it will be called: acme")->required();
  command_->add_option("--directory", directory_, "The project's directory, to be made (default ./NAME)");
  command_->footer(exit_statuses);
}

bool NewCompilerCommand::chosen() const { return command_->parsed(); }

Answer NewCompilerCommand::run() const {
  const std::string problem = compiler_name_problem(name_);
  if (!problem.empty()) return {"", "anyplace: " + problem + "\n", exit_usage};
  return write_new({name_,
                    directory_,
                    "a compiler of kernels for anyplace in C++",
                    "ANYPLACE_BACKEND_PATH=$PWD/b ./check.sh \"$(command -v anyplace)\" " + name_ + " native",
                    {"compiler"}});
}

}  // namespace anyplace::tool
