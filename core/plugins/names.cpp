// SPDX-License-Identifier: Apache-2.0
#include "plugins/names.h"

#include <algorithm>
#include <array>
#include <set>

#include "plugins/plugin_search.h"
#include "runtime/edit_distance.h"
#include "runtime/process.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr std::string_view file_suffix = ".so";

constexpr std::array<BackendAlias, 7> aliases{{
    {"gpu", "cuda"},
    {"nvidia", "cuda"},
    {"rocm", "hip"},
    {"amd", "hip"},
    {"ze", "levelzero"},
    {"xpu", "levelzero"},
    {"custom_cpu", "cpu_sim"},
}};
/// Names that users ask for where there is no GPU. They aren't aliases of cpu_sim, because a user who means the host's
/// processors may not want a simulated device.
constexpr std::array<std::string_view, 6> meant_for_host{"cpu", "cpus", "host", "sim", "simulator", "simulated"};
constexpr std::array<std::string_view, 4> planned{"cuda", "hip", "levelzero", "cpu_sim"};

/// Only the beginning of a text is compared with names, since no name is longer.
constexpr std::size_t compared_limit = 2 * name_limit;

bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

std::set<std::string> known_names() {
  std::set<std::string> names(planned.begin(), planned.end());
  names.emplace(automatic_name);
  for (const BackendAlias& alias : aliases) names.emplace(alias.alias);
  // In a forked child the mutex of the registered plugins may be locked for good.
  if (process_running()) {
    for (const PluginFile& file : list_plugins().files) names.insert(file.name);
  }
  return names;
}

/// The part of a text that was probably meant as a name: up to the colon or plus, without blanks, in lower case.
std::string presumed_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, compared_limit)) {
    if (c == ':' || c == '+') break;
    if (c == ' ' || c == '\t' || c == '\n') continue;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name;
}

}  // namespace

bool is_valid_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > name_limit || !is_lower(text.front())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

std::string name_problem(std::string_view text) {
  if (text.empty()) return "the name is empty";
  if (!is_lower(text.front())) return "the name doesn't begin with a small letter";
  for (const char c : text.substr(0, name_limit + 1)) {
    if (!is_lower(c) && !is_digit(c) && c != '_') return "the name has the character " + in_quotes({&c, 1});
  }
  if (text.size() > name_limit) return "the name is longer than " + std::to_string(name_limit) + " characters";
  return "";
}

std::span<const BackendAlias> alias_table() noexcept { return aliases; }

std::string_view without_table_alias(std::string_view name) noexcept {
  for (const BackendAlias& alias : aliases) {
    if (alias.alias == name) return alias.backend;
  }
  return name;
}

std::span<const std::string_view> planned_names() noexcept { return planned; }

std::string_view plugin_file_prefix(PluginKind kind) noexcept {
  switch (kind) {
    case PluginKind::backend:
      return "libanyplace_backend_";
    case PluginKind::engine:
      return "libanyplace_engine_";
    case PluginKind::compiler:
      return "libanyplace_compiler_";
    case PluginKind::layer:
      return "libanyplace_layer_";
  }
  return "";
}

std::string plugin_file_name(std::string_view name, PluginKind kind) {
  return std::string(plugin_file_prefix(kind)) + std::string(name) + std::string(file_suffix);
}

std::optional<std::string_view> name_in_file_name(std::string_view file_name, PluginKind kind) noexcept {
  const std::string_view file_prefix = plugin_file_prefix(kind);
  if (!file_name.starts_with(file_prefix)) return std::nullopt;
  file_name.remove_prefix(file_prefix.size());
  if (!file_name.ends_with(file_suffix)) return std::nullopt;
  file_name.remove_suffix(file_suffix.size());
  if (!is_valid_name(file_name)) return std::nullopt;
  return file_name;
}

std::string suggestion(std::string_view text) {
  const std::string meant = presumed_name(text);
  if (std::find(meant_for_host.begin(), meant_for_host.end(), meant) != meant_for_host.end()) {
    return "did you mean \"cpu_sim\"?";
  }
  return suggestion_among(text, known_names());
}

std::string suggestion_among(std::string_view text, const std::set<std::string>& known) {
  const std::string meant = presumed_name(text);
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(meant, name);
    if (nearest == nullptr || distance < least) {
      nearest = &name;
      least = distance;
    }
  }
  // A name is suggested only if less than half of it differs; else the guess would mislead.
  if (nearest != nullptr && least * 2 < std::max(nearest->size(), meant.size())) {
    return "did you mean \"" + *nearest + "\"?";
  }
  std::string list = "known names are";
  for (const std::string& name : known) list += (name == *known.begin() ? " " : ", ") + name;
  return list;
}

}  // namespace anyplace::detail
