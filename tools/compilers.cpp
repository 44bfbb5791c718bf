// SPDX-License-Identifier: Apache-2.0
#include "compilers.h"

#include <anyplace/compile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "forked.h"
#include "terminal.h"
#include "text.h"

namespace anyplace::tool {
namespace {

/// The formats of source at run time that each backend takes, the best first. A device needn't be there to be asked.
constexpr std::array<std::pair<const char*, const char*>, 4> formats{{
    {"cuda", "ptx"},
    {"hip", "hsaco"},
    {"levelzero", "spirv"},
    {"cpu_sim", "shared_object"},
}};

bool is_program(const std::string& path) {
  struct stat status {};
  return path.find(".so") == std::string::npos && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// The first line of what a compiler's program says of its version; "" if it says nothing. The versions of libraries
/// are known without this.
std::string told_version(const std::string& program) {
  std::string word = "'";
  for (const char c : program) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  const auto close = [](FILE* file) { ::pclose(file); };
  const std::unique_ptr<FILE, decltype(close)> output(
      ::popen((word + "' --version 2>/dev/null </dev/null").c_str(), "r"), close);
  std::array<char, 256> line{};
  if (output == nullptr || std::fgets(line.data(), line.size(), output.get()) == nullptr) return "";
  const std::string text = line.data();
  return text.substr(0, text.find('\n'));
}

/// The version for people. The plugin's own text is made for the cache: behind a library's number it has size and time
/// of the file.
std::string shown_version(const Compiler& compiler) {
  if (!compiler.usable) return "";
  const std::string told = is_program(compiler.library) ? told_version(compiler.library) : "";
  return told.empty() ? compiler.version.substr(0, compiler.version.find(',')) : told;
}

/// Whether the compiler makes images of the format, with what is here.
bool can_make(const Compiler& compiler, const std::string& format) {
  const auto is_it = [&](const MissingFormat& one) { return one.format == format; };
  return std::find(compiler.formats.begin(), compiler.formats.end(), format) != compiler.formats.end() &&
         std::none_of(compiler.missing.begin(), compiler.missing.end(), is_it);
}

Json compiler_json(const Compiler& compiler) {
  Json missing = Json::array();
  for (const MissingFormat& one : compiler.missing) {
    missing.push_back(Json{{"format", one.format}, {"reason", one.reason}});
  }
  return Json{{"name", compiler.name},
              {"plugin", compiler.plugin},
              {"formats", compiler.formats},
              {"from_spirv", compiler.from_spirv},
              {"missing", std::move(missing)},
              {"library", text_or_null(compiler.library)},
              {"usable", compiler.usable},
              {"version", text_or_null(shown_version(compiler))},
              {"reason", text_or_null(compiler.reason)}};
}

Json examine_here() {
  Json all = Json::array();
  Json for_backends = Json::object();
  for (const auto& [backend, format] : formats) for_backends[backend] = Json::array();
  for (const Compiler& compiler : compilers()) {
    all.push_back(compiler_json(compiler));
    for (const auto& [backend, format] : formats) {
      if (compiler.usable && can_make(compiler, format)) for_backends[backend].push_back(compiler.name);
    }
  }
  return Json{{"compilers", std::move(all)}, {"for", std::move(for_backends)}, {"problem", nullptr}};
}

/// What to do for a backend whose format nothing here makes.
std::string missing_text(const Json& compilers, const std::string& format) {
  std::vector<std::string> names;
  for (const Json& compiler : compilers) {
    const Json& makes = compiler.at("formats");
    const bool would_do = std::find(makes.begin(), makes.end(), format) != makes.end();
    if (would_do) names.push_back(compiler.at("name").get<std::string>());
  }
  if (names.empty()) return "none: no compiler's plugin here makes " + format;
  return "none: " + joined(names) + " would do, see above what is missing";
}

}  // namespace

Json examine_compilers(std::chrono::milliseconds limit) {
  try {
    return in_forked_child(examine_here, limit);
  } catch (const std::exception& error) {
    return Json{{"compilers", Json::array()},
                {"for", Json::object()},
                {"problem", std::string("opening them failed: ") + error.what()}};
  }
}

std::string compilers_text(const Json& examined) {
  const auto text_of = [](const Json& compiler, const char* key) { return compiler.at(key).get<std::string>(); };
  std::string text;
  for (const Json& compiler : examined.at("compilers")) {
    const bool usable = compiler.at("usable").get<bool>();
    text += "  " + text_of(compiler, "name") + ": " +
            (usable ? painted(Paint::good, "can be used") : painted(Paint::name, "can't be used")) + "\n";
    text += field("  plugin", text_of(compiler, "plugin"));
    if (!compiler.at("formats").empty()) {
      text += field("  makes", joined(compiler.at("formats").get<std::vector<std::string>>()));
    }
    if (!compiler.at("from_spirv").empty()) {
      text += field("  of SPIR-V", joined(compiler.at("from_spirv").get<std::vector<std::string>>()));
    }
    if (!compiler.at("library").is_null()) text += field("  file", text_of(compiler, "library"));
    if (!compiler.at("version").is_null()) text += field("  version", text_of(compiler, "version"));
    if (!compiler.at("reason").is_null()) text += field("  why", text_of(compiler, "reason"));
    if (!usable) continue;
    for (const Json& one : compiler.at("missing"))
      text += field("  no " + text_of(one, "format"), text_of(one, "reason"));
  }
  for (const auto& [backend, format] : formats) {
    if (!examined.at("for").contains(backend)) continue;
    const auto names = examined.at("for").at(backend).get<std::vector<std::string>>();
    text += field(std::string("for ") + backend,
                  names.empty() ? missing_text(examined.at("compilers"), format) : joined(names));
  }
  if (!examined.at("problem").is_null()) text += field("problem", examined.at("problem").get<std::string>());
  return text;
}

}  // namespace anyplace::tool
